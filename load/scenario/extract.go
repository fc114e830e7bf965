package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"unsafe"

	"github.com/tidwall/gjson"
	"golang.org/x/net/http/httpguts"

	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/record"
)

// extraction extracts a value of an answer into a slot.
type extraction struct {
	name string
	slot int
	from source
}

// source finds a text in an answer. The text may be in the answer's memory: copy what you keep.
type source interface {
	find(a *Answer) (value, bool)
	String() string
}

// newSource returns the source of an Extraction, or an error if it is not valid.
func newSource(e Extraction) (source, error) {
	switch e {
	case Extraction{}:
	case Extraction{JSON: e.JSON}:
		path, err := oracle.ParsePath(e.JSON)
		return fromJSON{path}, err
	case Extraction{Header: e.Header}:
		if !httpguts.ValidHeaderFieldName(e.Header) {
			return nil, fmt.Errorf("%q is no name of a header", e.Header)
		}
		return fromHeader(e.Header), nil
	case Extraction{Regexp: e.Regexp}:
		pattern, err := regexp.Compile(e.Regexp)
		if err != nil {
			return nil, err
		}
		return fromPattern{pattern}, nil
	}
	return nil, errors.New("give exactly one of json, header and regexp")
}

// fromJSON extracts a value of a JSON body. readExtract calls ExpectJSON, so the oracle has rejected bodies
// that are not JSON. find returns texts without quotes and other values as they are written; null counts as
// missing.
type fromJSON struct{ path oracle.Path }

func (f fromJSON) find(a *Answer) (value, bool) {
	result, found := f.path.Find(a.Body)
	switch {
	case !found || result.Type == gjson.Null:
		return value{}, false
	case result.Type == gjson.String:
		return value{text: bytesOf(result.Str)}, true
	}
	return value{text: bytesOf(result.Raw), bare: true}, true
}

// bytesOf returns the bytes of a text without copying them. The caller must not change them.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

func (f fromJSON) String() string { return "the JSON value " + f.path.String() }

// fromHeader is the name of a header; find returns the header's first value.
type fromHeader string

func (f fromHeader) find(a *Answer) (value, bool) {
	text, found := a.HeaderValue(string(f))
	return value{text: text}, found
}

func (f fromHeader) String() string { return "the header " + string(f) }

// fromPattern extracts the first group of a match in the body, or the whole match if the pattern has no
// group.
type fromPattern struct{ pattern *regexp.Regexp }

func (f fromPattern) find(a *Answer) (value, bool) {
	group := 2 * min(f.pattern.NumSubexp(), 1)    // index of the group's bounds
	bounds := f.pattern.FindSubmatchIndex(a.Body) // bounds, because an empty match in a nil body counts
	if bounds == nil || bounds[group] < 0 {
		return value{}, false
	}
	return value{text: a.Body[bounds[group]:bounds[group+1]]}, true
}

func (f fromPattern) String() string { return fmt.Sprintf("a match of %q", f.pattern) }

// missing returns the outcome of an answer that lacks the value, and a complaint if explain is set.
func (e *extraction) missing(a *Answer, explain bool) (record.Outcome, string) {
	if _, isHeader := e.from.(fromHeader); isHeader {
		return failed(explain, func() string {
			return "expected " + e.from.String() + " in the answer, for " + e.name
		})
	}
	return oracle.WrongBody(a, explain, e)
}

// String returns the end of a complaint that begins with "expected the body".
func (e *extraction) String() string { return "to have " + e.from.String() + ", for " + e.name }
