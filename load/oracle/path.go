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

// pathStep is the key of an object. A key that is a number is also the index of an array.
type pathStep struct {
	key   string
	index int // -1: no index
}

// ParsePath parses a path.
func ParsePath(text string) (Path, error) {
	p := Path{source: text}
	rest, rooted := strings.CutPrefix(text, "$")
	if rooted && rest != "" && rest[0] != '.' && rest[0] != '[' {
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
	if len(text) > 1 && (text[1] == '\'' || text[1] == '"') {
		key, behind, found := strings.Cut(text[2:], text[1:2]+"]")
		if !found {
			return pathStep{}, "", errors.New("a bracket does not end")
		}
		return pathStep{key: key, index: -1}, behind, nil
	}
	key, behind, found := strings.Cut(text[1:], "]")
	if step = newStep(key); !found || step.index < 0 {
		return pathStep{}, "", fmt.Errorf("%q is not an index", key)
	}
	return step, behind, nil
}

// newStep returns the step of a key, which may be an index as well.
func newStep(key string) pathStep {
	index, err := strconv.Atoi(key)
	if err != nil || index < 0 {
		index = -1
	}
	return pathStep{key: key, index: index}
}

// String returns the path as the user wrote it.
func (p Path) String() string { return p.source }

// Find returns the value at the path. The document must be valid JSON (see isJSON). The result refers to
// the memory of the document. If a key is repeated, its first value counts.
func (p Path) Find(document []byte) (gjson.Result, bool) {
	at := skipSpace(document, 0)
	for i := range p.steps {
		at = p.steps[i].follow(document, at)
		if at < 0 {
			return gjson.Result{}, false
		}
	}
	value := document[at:skipValue(document, at)]
	// The text is read only as long as the answer's memory is valid.
	return gjson.Parse(unsafe.String(unsafe.SliceData(value), len(value))), true
}

// follow returns the position of the step's value in the document, or -1.
func (s *pathStep) follow(document []byte, at int) int {
	isObject := document[at] == '{'
	if !isObject && (document[at] != '[' || s.index < 0) {
		return -1
	}
	at = skipSpace(document, at+1)
	for n := 0; document[at] != '}' && document[at] != ']'; n++ {
		found := n == s.index
		if isObject {
			end := skipValue(document, at)
			found = s.isKey(document[at+1 : end-1])
			at = skipSpace(document, skipSpace(document, end)+1) // after the colon
		}
		if found {
			return at
		}
		at = skipSpace(document, skipValue(document, at))
		if document[at] == ',' {
			at = skipSpace(document, at+1)
		}
	}
	return -1
}

// isKey compares the step with a key, which is given without its quotes.
func (s *pathStep) isKey(key []byte) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key) == s.key
	}
	return gjson.Parse(`"`+string(key)+`"`).Str == s.key
}

// skipSpace returns the position of the next token.
func skipSpace(document []byte, at int) int {
	for at < len(document) && document[at] <= ' ' {
		at++
	}
	return at
}

// skipValue returns the position after a value of a valid document.
func skipValue(document []byte, at int) int {
	depth := 0
	for at < len(document) {
		switch document[at] {
		case '"':
			at = skipString(document, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\t', '\r', '\n':
			at++
		default:
			at = skipLiteral(document, at)
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// skipString returns the position after the closing quote.
func skipString(document []byte, at int) int {
	for at++; document[at] != '"'; at++ {
		if document[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipLiteral returns the position after a number, true, false or null.
func skipLiteral(document []byte, at int) int {
	for at < len(document) && document[at] > ' ' && document[at] != ',' && document[at] != ']' &&
		document[at] != '}' {
		at++
	}
	return at
}

// isJSON reports whether the text is exactly one JSON value, nested no deeper
// than encoding/json permits.
func isJSON(text []byte) bool {
	const deepest = 10_000 // as in encoding/json; the quick check recurses
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > deepest {
		return json.Valid(text)
	}
	return gjson.ValidBytes(text)
}
