package yamlfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// recipes returns a format with small limits.
func recipes() Format {
	return Format{Kind: "recipe", Schema: "recipe/1", MaxBytes: 60, MaxDepth: 3, MaxNodes: 8}
}

func TestRoot(t *testing.T) {
	cases := []struct{ name, text, want string }{ // want: all problems; "" for none
		{"fine", "schema: recipe/1\nsteps: [a, b]", ""},
		{"as long as allowed", "#" + strings.Repeat("x", 56) + "\na:", ""},
		{"too long", "#" + strings.Repeat("x", 58) + "\na", "r.yaml: the file has 61 bytes, at most 60 are read"},
		{"empty", "", "r.yaml: the file is empty; start with: schema: recipe/1"},
		{"comment only", "# later", "r.yaml: the file is empty; start with: schema: recipe/1"},
		{"nothing after the start", "---\n", "r.yaml: the file is empty; start with: schema: recipe/1"},
		{"mistake with a line", "a: b\nc: d: e",
			"r.yaml:2: this is no YAML: mapping values are not allowed in this context"},
		{"mistake without a line", "a: \xff", "r.yaml: this is no YAML: invalid leading UTF-8 octet"},
		{"two documents", "a: b\n---\nc: d",
			"r.yaml: the file holds more than one document; write one recipe per file"},
		{"alias", "a: b\nc: &x d\ne: *x", "r.yaml:2: anchors and aliases are not allowed in recipe files"},
		{"alias to nothing", "a: *x", "r.yaml: this is no YAML: unknown anchor 'x' referenced"},
		{"as deep as allowed", "a:\n- b", ""},
		{"tag of somebody", "a: b\nc: !foo d", "r.yaml:2: the tag !foo: tags are not allowed in recipe files"},
		{"a text", "user=anna\npassword=hunter2",
			"r.yaml:1: this is a text, expected keys with values; start with: schema: recipe/1"},
		{"braces in a list", "a: b\nc: d\ne: [f, 1:{port}]",
			"r.yaml:3: this is no YAML: put the text with {port} in quotes: a brace begins a set of keys"},
		{"braces in an item", "a: b\nc:\n - d\n - {port}:1",
			"r.yaml:4: this is no YAML: put the text with {port} in quotes: a brace begins a set of keys"},
		{"open list", "a: b\nc: [d\ne: f",
			"r.yaml:2: this is no YAML: did not find expected ',' or ']', in what begins here"},
		{"tag of a mapping", "a: !!map {b: c}", "r.yaml:1: the tag !!map: tags are not allowed in recipe files"},
		{"tag of a key", "!!int a: b", "r.yaml:1: the tag !!int: tags are not allowed in recipe files"},
		{"too deep", "a:\n- - b", "r.yaml:2: nested deeper than 3 levels"},
		{"as many as allowed", "[1,2,3,4,5,6,7]", ""},
		{"too many", "[1,2,3,4,5,6,7,\n8]", "r.yaml:2: more than 8 values in the file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := Reader{Format: recipes(), File: "r.yaml"}
			root := r.Root([]byte(c.text))
			if got := r.Problems.Error(); got != c.want {
				t.Errorf("problems %q, want %q", got, c.want)
			}
			if wantRoot := c.want == "" || c.name == "two documents"; (root != nil) != wantRoot {
				t.Errorf("root is %v, want one: %t", root, wantRoot)
			}
		})
	}
}

func TestUnknownKey(t *testing.T) {
	cases := []struct {
		known []string
		want  string
	}{
		{[]string{"steps", "title"},
			`r.yaml:1: the recipe has no key "setps" (did you mean "steps"?); it takes steps, title`},
		{[]string{"title"}, `r.yaml:1: the recipe has no key "setps"; it takes title`},
		{nil, `r.yaml:1: the recipe has no key "setps"; it takes nothing`},
	}
	for _, c := range cases {
		r := Reader{Format: recipes(), File: "r.yaml"}
		r.Object(r.Root([]byte("setps: 1")), "the recipe", c.known, nil, nil)
		if got := r.Problems.Error(); got != c.want {
			t.Errorf("problems %q, want %q", got, c.want)
		}
	}
}

func TestProblemsAreOneError(t *testing.T) {
	var none Problems
	if err := none.OrNil(); err != nil {
		t.Errorf("no problems are %v", err)
	}
	r := Reader{File: "r.yaml"}
	r.Problem(7, "%d eggs are too many", 90)
	r.Problem(2, "first of the line")
	r.Problem(0, "of the file")
	r.Problem(2, "second of the line")
	found := append(r.Problems, Problem{Message: "from no file"},
		Problem{Message: "of a text without a name", Line: 9})
	want := "from no file\nline 9: of a text without a name\nr.yaml: of the file\nr.yaml:2: first of the " +
		"line\nr.yaml:2: second of the line\nr.yaml:7: 90 eggs are too many"
	err := found.OrNil()
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	ofTwo := Problems{{"b.yaml", 1, "third"}, {"a.yaml", 9, "second"}, {"a.yaml", 1, "first"}}
	if got := ofTwo.OrNil().Error(); got != "a.yaml:1: first\na.yaml:9: second\nb.yaml:1: third" {
		t.Errorf("the problems of two files are\n%s", got)
	}
	var back Problems
	if !errors.As(err, &back) || len(back) != 6 {
		t.Errorf("the error holds %d problems, want 6", len(back))
	}
}

// TestMessagesShowExcerpts: a message quotes at most one line of a file, and only the beginning of a long
// one.
func TestMessagesShowExcerpts(t *testing.T) {
	long := strings.Repeat("x", longestExcerpt)
	for text, want := range map[string]string{
		"a": `"a"`, "user=anna\r\npassword=hunter2": `"user=anna ..."`,
		long: `"` + long + `"`, long + "y": `"` + long + ` ..."`,
	} {
		r := Reader{}
		r.Problem(0, "%q, %s of %d", text, "all of a list", 1)
		if got := r.Problems.Error(); got != want+", all of a list of 1" {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

// FuzzRoot: every text has a root or a problem, and every problem has a message and
// the name of the file.
func FuzzRoot(f *testing.F) {
	for _, text := range []string{"", "a: [1, {b: c}]", "a: b\n---\nc", "&x a: *x", "a: b: c", "\xff",
		"[a, b:{port}]", "- {a}b"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Reader{Format: recipes(), File: "r.yaml"}
		root := r.Root(data)
		if root == nil && len(r.Problems) == 0 {
			t.Errorf("%q has no root and no problem", data)
		}
		if root != nil && root.Kind == yaml.ScalarNode {
			t.Errorf("%q has a text for a root", data)
		}
		for _, p := range r.Problems {
			if p.File != "r.yaml" || p.Line < 0 || strings.TrimSpace(p.Message) == "" {
				t.Errorf("%q: problem %+v", data, p)
			}
		}
	})
}

// words is a list that a file may write as one text.
type words []string

func (w *words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// recipe is a struct for TestDecode: it has a text, a list that may be one text, a duration, a whole number,
// a map, an optional struct and keys to ignore.
type recipe struct {
	Schema string            `yaml:"schema"`
	Steps  words             `yaml:"steps"`
	Rest   time.Duration     `yaml:"rest,omitempty"`
	Serves int               `yaml:"serves,omitempty"`
	Notes  map[string]string `yaml:"notes,omitempty"`
	Sauce  *recipe           `yaml:"sauce,omitempty"`
	Others any               `yaml:"author|photo,omitempty"`
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{ // all problems; "" for none
		"schema: a\nsteps: boil serve\nrest: 90s\nserves: 2\nnotes: {salt: 1}\n" +
			"sauce: {schema: b, steps: [a, b]}\nauthor: me\nphoto: {of: [me]}": "",
		"steps: a": `r.yaml:1: the recipe needs the key "schema"`,
		"schema: a\nsteps: a\nrests: 1s": `r.yaml:3: the recipe has no key "rests" (did you mean "rest"?); ` +
			"it takes author, notes, photo, rest, sauce, schema, serves, steps",
		"schema: a\nsteps: {a: b}\nrest: soon\nserves: x": "r.yaml:2: steps is a set of keys, expected a list\n" +
			`r.yaml:3: rest is "soon", expected a time such as 30s` + "\n" +
			`r.yaml:4: serves is "x", expected a whole number`,
		"schema: a\nsteps: a\nsauce:\n  schema: b\n  steps: [[a]]": "r.yaml:5: sauce.steps[0] is a list, " +
			"expected a text (in quotes, where it begins with [ or {)",
		"schema: a\nsteps: a\nsteps: b":        `r.yaml:3: the recipe has the key "steps" twice`,
		"schema: a\nsteps: a\nnotes: {[a]: b}": "r.yaml:3: notes has a key that is a list, expected a text",
	} {
		r := Reader{Format: Small("recipe", "recipe/1"), File: "r.yaml"}
		var into recipe
		lines := r.Decode(r.Root([]byte(text)), &into)
		_ = r.Problems.OrNil() // sorts them
		if got := r.Problems.Error(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
		if want == "" && (len(into.Steps) != 2 || into.Rest != 90*time.Second || into.Notes["salt"] != "1" ||
			len(into.Sauce.Steps) != 2 || lines["sauce.steps"] != 6 || lines["rest"] != 3) {
			t.Errorf("read %+v at %v", into, lines)
		}
	}
}
