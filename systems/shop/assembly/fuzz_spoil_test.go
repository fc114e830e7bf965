package assembly_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// spoil changes one part of a request, which makes it invalid as a rule. By chance it may stay valid: the
// validator decides.
func (f *fuzzer) spoil(made *request) {
	ways := []func(*request){f.spoilQuery}
	if len(made.path) > 0 {
		ways = append(ways, f.spoilPath, f.spoilPath)
	}
	if len(made.body) > 0 {
		ways = append(ways, f.spoilField, f.spoilField, f.spoilField, f.spoilBytes, f.spoilHeader)
	}
	ways[f.random.IntN(len(ways))](made)
}

// strange returns unusual values of parameters: most are neither a number of something nor an id.
func strange() []string {
	return []string{"0", "-1", "01", "+1", "1.0", "1e3", "x", " ", "..", ".", "%", "a/b", "é", "\x00",
		"9223372036854775808", "null", strings.Repeat("y", 300)}
}

func (f *fuzzer) spoilPath(made *request) {
	names := sortedKeys(made.path)
	name := pick(f.random, names)
	value := pick(f.random, strange())
	made.path[name] = value
	if name != "orderId" && oddNumber(value) {
		made.wrong = "path"
	}
}

// oddNumber reports whether a text is a number in a spelling that the validator accepts and the shop does
// not.
func oddNumber(text string) bool { return slices.Contains([]string{"01", "+1", "1.0", "1e3"}, text) }

func (f *fuzzer) spoilQuery(made *request) {
	names := []string{"pageSize", "cursor", "namePrefix", "customerId", "unheard"}
	name := pick(f.random, names)
	value := pick(f.random, strange())
	if name == "namePrefix" {
		made.query.Del("cursor") // it belongs to the search that it came from
	}
	switch {
	case name == "cursor":
		// The document cannot say which cursors are valid. This one is from no answer.
		made.wrong = "cursor"
		made.query.Set(name, "!"+value)
	case made.query.Has(name) && f.random.IntN(2) == 0:
		made.query.Add(name, value)
	default:
		made.query.Set(name, value)
	}
	if strings.Contains(value, "\x00") || oddNumber(value) && name != "namePrefix" {
		made.wrong = "query"
	}
}

func (f *fuzzer) spoilHeader(made *request) {
	switch f.random.IntN(5) {
	case 0:
		made.header.Del("Idempotency-Key")
	case 1:
		made.header.Set("Idempotency-Key", strings.Repeat("k", 65+f.random.IntN(100)))
	case 2:
		made.header.Set("Idempotency-Key", "with space é")
	case 3:
		made.header.Add("Idempotency-Key", "second")
	case 4:
		made.header.Set("Content-Type", pick(f.random, []string{"text/plain", "application/xml", "", "json"}))
		made.wrong = "content type"
	}
}

// spoilBytes breaks the body as JSON.
func (f *fuzzer) spoilBytes(made *request) {
	made.wrong = "body"
	switch f.random.IntN(6) {
	case 0:
		made.body = made.body[:f.random.IntN(len(made.body))]
	case 1:
		made.body = append(bytes.Clone(made.body), pick(f.random, []string{"{}", "]", "1", "x"})...)
	case 2:
		made.body = []byte(strings.Repeat("[", 1+f.random.IntN(20_000)))
	case 3:
		made.body = []byte(`{"customerId":1,"lines":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}`)
	case 4:
		made.body = append(bytes.Repeat([]byte(" "), 64<<10), made.body...)
	case 5:
		made.body = []byte(pick(f.random, []string{"null", "[]", "1", `"x"`, "{}", "\xff\xfe",
			"{\"customerId\":1e400,\"lines\":[]}"}))
	}
}

// spoilField changes one field somewhere in the body.
func (f *fuzzer) spoilField(made *request) {
	var body map[string]any
	if json.Unmarshal(made.body, &body) != nil {
		return
	}
	target := body
	if lines, ok := body["lines"].([]any); ok && len(lines) > 0 && f.random.IntN(2) == 0 {
		target, _ = lines[f.random.IntN(len(lines))].(map[string]any)
	}
	names := sortedKeys(target)
	if len(names) == 0 {
		return
	}
	name := pick(f.random, names)
	switch f.random.IntN(4) {
	case 0:
		delete(target, name)
	case 1:
		target["unheardOf"] = 1
	default:
		target[name] = pick(f.random, []any{nil, "1", 0, -1, 0.5, 1001, 1e18, 1e19, true, []any{}, map[string]any{},
			[]any{nil}, strings.Repeat("z", 500)})
	}
	made.body = encode(body)
	// Numbers went through floating point: large ids may have become too large.
	if bytes.Contains(made.body, []byte("e+")) || bytes.Contains(made.body, []byte("922337203685477")) {
		made.wrong = "number"
	}
	made.repeatsProduct(body)
}

// repeatsProduct marks the request as wrong if two lines have the same product.
func (r *request) repeatsProduct(body map[string]any) {
	products := map[any]bool{}
	lines, _ := body["lines"].([]any)
	for _, line := range lines {
		fields, _ := line.(map[string]any)
		number, _ := fields["productId"].(float64)
		if products[number] {
			r.wrong = "product twice"
		}
		products[number] = true
	}
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
