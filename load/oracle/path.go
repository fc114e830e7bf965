package oracle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Path is the path to one value of a JSON document. It is written with dots (items.0.id) or as JSONPath
// ($.items[0].id, $['a.b']); wildcards are not possible.
type Path struct {
	source string
	steps  []pathStep
}

// pathStep is the key of an object. A key that is a number is also the index of an array. Both are paths of
// gjson, the key with escaped special characters. Each step is followed by itself, because gjson understands
// these escapes in objects only, and a longer path may lead to an array.
type pathStep struct {
	key   string
	index string // "": no index
}

// ParsePath parses a path.
func ParsePath(text string) (Path, error) {
	p := Path{source: text}
	rest, rooted := strings.CutPrefix(text, "$")
	isPath := rest == "" || strings.ContainsAny(rest[:1], ".[")
	if rooted && !isPath {
		rest, rooted = text, false // a key may begin with a dollar sign, such as $id
	}
	if !rooted {
		rest = "." + rest
	}
	for rest != "" {
		step, behind, err := nextStep(rest)
		if err != nil {
			return Path{}, fmt.Errorf("JSON path %q: %w: write for example items.0.id, $.items[0].id or $['a.b']",
				text, err)
		}
		p.steps = append(p.steps, step)
		rest = behind
	}
	return p, nil
}

// nextStep parses ".key", "[0]" or "['key']".
func nextStep(text string) (step pathStep, rest string, err error) {
	if text[0] == '.' {
		end := strings.IndexAny(text[1:], ".[") + 1
		end = cmp.Or(end, len(text))
		if end == 1 {
			return pathStep{}, "", errors.New("a part is empty")
		}
		return newStep(text[1:end]), text[end:], nil
	}
	if text[0] != '[' {
		return pathStep{}, "", fmt.Errorf("%q is neither a dot nor a bracket", text[:1])
	}
	if strings.HasPrefix(text, "['") || strings.HasPrefix(text, `["`) {
		key, behind, found := strings.Cut(text[2:], text[1:2]+"]")
		if !found {
			return pathStep{}, "", errors.New("a bracket does not end")
		}
		return pathStep{key: gjson.Escape(key)}, behind, nil
	}
	key, behind, found := strings.Cut(text[1:], "]")
	if step = newStep(key); !found || step.index == "" {
		return pathStep{}, "", fmt.Errorf("%q is not an index", key)
	}
	return step, behind, nil
}

// newStep returns the step of a key, which may be an index as well.
func newStep(key string) pathStep {
	step := pathStep{key: gjson.Escape(key)}
	if _, err := strconv.ParseUint(key, 10, 31); err == nil {
		step.index = key
	}
	return step
}

// String returns the path as the user wrote it.
func (p Path) String() string { return p.source }

// Find returns the value at the path. The document must be valid JSON (see isJSON). The result refers to
// the memory of the document. If a key is repeated, its first value counts.
func (p Path) Find(document []byte) (gjson.Result, bool) {
	document = bytes.TrimSpace(document)
	// The text is read only as long as the answer's memory is valid.
	at := gjson.Parse(unsafe.String(unsafe.SliceData(document), len(document)))
	for i := range p.steps {
		step := &p.steps[i]
		switch {
		case at.IsObject():
			at = at.Get(step.key)
		case at.IsArray() && step.index != "":
			at = at.Get(step.index)
		default:
			return gjson.Result{}, false
		}
		if !at.Exists() {
			return gjson.Result{}, false
		}
	}
	return at, true
}

// isJSON reports whether the text is exactly one JSON value, nested no deeper
// than encoding/json permits.
func isJSON(text []byte) bool {
	const deepest = 10_000 // as in encoding/json; the quick check recurses
	brackets := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
	if brackets > deepest {
		return json.Valid(text)
	}
	return gjson.ValidBytes(text)
}
