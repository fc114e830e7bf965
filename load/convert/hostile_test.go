package convert

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
)

// hostile returns texts that mean something somewhere: in URLs, headers, YAML,
// scenarios, patterns or numbers.
func hostile() []string {
	return []string{
		"", " ", "\n", "a b", "\x00", "${", "${x}", "$${x}", "$", "é\u2028ü", "{}", "#", "?", "&=%", "%zz", ":",
		"re:", "re:(", "(", "*",
		"-1", "0", "1e400", "NaN", "99999999999999999999", "true", "null", "~", "- a", "a: b", "'", "\"", "\ufeff",
		strings.Repeat("x", 3000),
	}
}

// threeOf returns three of the hostile texts, others for every place: all of them in
// all places would take a minute.
func threeOf(place int) []string {
	all := hostile()
	n := len(all)
	return []string{all[place%n], all[(place*7+3)%n], all[(place*13+11)%n]}
}

// isLeftOut reports whether `make test` leaves a place out: under the race detector all take a minute.
func isLeftOut(place int) bool { return place%4 > 0 && !testset.All() }

// valid reports what is wrong with a conversion, if there is one.
func valid(t *testing.T, name string, data []byte) error {
	c, err := convert(name, data, Options{beside: os.DirFS("testdata")})
	if err != nil {
		return nil // refused
	}
	_, err = compiled(t, &c, dataOf(&c))
	return err
}

// TestHostileTextsOfTestPlans puts hostile texts into every place of a test plan: the result is a valid
// scenario or an error.
func TestHostileTextsOfTestPlans(t *testing.T) {
	top, err := readNodes(read(t, "shop.jmx"))
	testset.Must(t, err)
	place := 0
	var visit func(n *node)
	visit = func(n *node) {
		for _, kid := range n.kids {
			visit(kid)
		}
		_, named := n.attrs["testname"]
		if place++; isLeftOut(place) {
			return
		}
		for _, text := range threeOf(place) {
			old := n.text.String()
			name := n.attrs["testname"]
			switch {
			case named:
				n.attrs["testname"] = text
			case len(n.kids) == 0:
				n.text.Reset()
				n.text.WriteString(text)
			default:
				return
			}
			var out strings.Builder
			top.write(&out)
			if err := valid(t, "shop.jmx", []byte(out.String())); err != nil {
				t.Errorf("%s %v with %q: %v", n.tag, n.attrs, text, err)
			}
			if named {
				n.attrs["testname"] = name
			}
			n.text.Reset()
			n.text.WriteString(old)
		}
	}
	visit(top)
}

// TestHostileTextsOfDocuments does the same to recordings and descriptions.
func TestHostileTextsOfDocuments(t *testing.T) {
	for _, name := range []string{"shop.har", "shop.openapi.yaml", "shop.swagger.json", "shop.postman.json"} {
		var document any
		testset.Must(t, yaml.Unmarshal(read(t, name), &document))
		place := 0
		eachText(document, func(put func(any), old any) {
			if place++; isLeftOut(place) {
				return
			}
			for _, text := range threeOf(place) {
				put(text)
				if err := valid(t, strings.TrimSuffix(name, ".yaml"), asJSON(t, document)); err != nil {
					t.Errorf("%s: %v becomes %q: %v", name, old, text, err)
				}
			}
			put(old)
		})
	}
}

// eachText visits all texts of a document.
func eachText(at any, visit func(put func(any), old any)) {
	switch v := at.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if _, isText := v[key].(string); isText {
				visit(func(value any) { v[key] = value }, v[key])
			}
			eachText(v[key], visit)
		}
	case []any:
		for i := range v {
			if _, isText := v[i].(string); isText {
				visit(func(value any) { v[i] = value }, v[i])
			}
			eachText(v[i], visit)
		}
	}
}
