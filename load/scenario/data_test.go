package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// paths returns the paths of the first requests of a scenario that uses ${d.a} and ${d.b}.
func paths(t *testing.T, folder string, d Data) []string {
	t.Helper()
	f := Single(Step{Request: "GET /${d.a}/${d.b}"})
	f.Data = map[string]Data{"d": d}
	plan := compiled(t, f, folder)
	p := plan.Player(Origin{Host: "h"})
	s := new(Session)
	var all []string
	for range 5 {
		p.Begin(s)
		all = append(all, s.Call().Path)
	}
	return all
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	testset.Must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func TestRowsInOrder(t *testing.T) {
	folder := t.TempDir()
	want := []string{"/1/x", "/2/y", "/3/z", "/1/x", "/2/y"}
	write(t, folder, "d.csv", "\ufeffa,c, b\n1,_,x\n2,_,y\n\"3\",_,z\n")
	if got := paths(t, folder, Data{CSV: "d.csv"}); !slices.Equal(got, want) {
		t.Errorf("CSV: %q, want %q", got, want)
	}
	write(t, folder, "d.jsonl", "\ufeff"+`{"a":1,"b":"x"}`+"\n\n"+`{"b":"\u0079","a":2,"more":1}`+"\r\n"+
		`{"a":3,"b":"z"}`)
	if got := paths(t, folder, Data{JSONL: "d.jsonl", Order: "sequential"}); !slices.Equal(got, want) {
		t.Errorf("JSON lines: %q, want %q", got, want)
	}
	// A key with blanks is a column of its own.
	write(t, folder, "d.jsonl", `{"a":1,"b":"x"," b ":"-"}`+"\n"+`{"a":2,"b":"y"," b ":"-"}`+"\n"+
		`{"a":3,"b":"z"," b ":"-"}`)
	if got := paths(t, folder, Data{JSONL: "d.jsonl"}); !slices.Equal(got, want) {
		t.Errorf("JSON lines with blanks in keys: %q, want %q", got, want)
	}
}

func TestRowsAtRandom(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "d.csv", "a,b\n1,x\n2,y\n")
	seen := map[string]bool{}
	for _, path := range paths(t, folder, Data{CSV: "d.csv", Order: "random"}) {
		seen[path] = true
	}
	for path := range seen {
		if path != "/1/x" && path != "/2/y" {
			t.Errorf("columns of different rows: %s", path)
		}
	}
}

func TestTypesOfJSONLines(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "d.jsonl", `{"n":1.50,"t":"1","l":[1, {}],"z":null}`)
	f := Single(Step{Request: "POST /", JSON: []any{"${d.n}", "${d.t}", "${d.l}", "${d.z}", "a${d.n}"}})
	f.Data = map[string]Data{"d": {JSONL: "d.jsonl"}}
	plan := compiled(t, f, folder)
	p := plan.Player(Origin{})
	s := new(Session)
	p.Begin(s)
	if got, want := string(s.Call().Body), `[1.50,"1",[1, {}],null,"a1.50"]`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
}

func TestDataThatIsRefused(t *testing.T) {
	folder := t.TempDir()
	testset.Must(t, os.Mkdir(filepath.Join(folder, "inner"), 0o700))
	inner := filepath.Join(folder, "inner")
	write(t, folder, "outside.csv", "a,b\n1,2\n")
	testset.Must(t, os.Symlink("../outside.csv", filepath.Join(inner, "link.csv")))
	large := filepath.Join(inner, "large.csv")
	write(t, inner, "large.csv", "a,b\n")
	testset.Must(t, os.Truncate(large, maxDataBytes+1))
	cases := []struct{ name, file, text, want string }{
		{"outside", "../outside.csv", "", "in the folder of the scenario"},
		{"outside by a link", "link.csv", "", "path escapes"},
		{"absolute", filepath.Join(folder, "outside.csv"), "", "in the folder of the scenario"},
		{"missing", "missing.csv", "", "no such file"},
		{"folder", ".", "", "is a folder"},
		{"large", "large.csv", "", "at most 67108864 are read"},
		{"empty", "empty.csv", "", "the file is empty"},
		{"no rows", "header.csv", "a,b\n", "there are no rows"},
		{"two columns of one name", "twice.csv", "a,a\n1,2\n", `two columns "a"`},
		{"short row", "short.csv", "a,b\n1\n", "line 2"},
		{"open quote", "quote.csv", "a,b\n\"1,2\n", "quote"},
		{"no object", "list.jsonl", "[1]\n", "line 1 is no JSON object"},
		{"not JSON", "x.jsonl", "{\"a\":1,\"b\":2}\nx\n", "line 2 is no JSON object"},
		{"missing key", "key.jsonl", "{\"a\":1,\"b\":2}\n{\"a\":1}\n", `line 2: it has no "b"`},
		{"too long line", "long.jsonl", "{\"a\":\"" + strings.Repeat("x", maxLength) + "\"}\n",
			"line 1 has more than 1048576 bytes"},
	}
	for _, c := range cases {
		if c.text != "" || c.name == "empty" {
			write(t, inner, c.file, c.text)
		}
		f := Single(Step{Request: "GET /${d.a}/${d.b}"})
		f.Data = map[string]Data{"d": {CSV: c.file}}
		if strings.HasSuffix(c.file, "jsonl") {
			f.Data = map[string]Data{"d": {JSONL: c.file}}
		}
		_, err := f.Compile(inner)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
