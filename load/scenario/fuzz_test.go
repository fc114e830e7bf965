package scenario

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
)

// FuzzParse: every mistake has a line of the file and a message; an accepted file can be written, read
// again and played.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"shop.yaml", "mistakes.yaml"} {
		f.Add(string(fixture(f, name)))
	}
	f.Add("schema: cleave-scenario/1\nname: x\nflows: [{name: y, steps: [{request: GET /, json: {a: [1.5, " +
		"null]}, note: []}]}]")
	const head = "schema: cleave-scenario/1\nname: x\ntarget: http://127.0.0.1:1\n"
	for _, rest := range []string{
		"flows: [{name: a, steps: [{request: GET /}]}]",
		"flows: [{name: a, steps: [{request: 'GET /${v}', expect: {status: 2xx}}]}]\nvalues: {v: {integer: " +
			"{from: 1, to: 9}}}",
		"flows: []", "data: {d: {csv: ../../etc/passwd}}", "load: {rate: 1e308, duration: 2562047h}",
		"name: !foo x", "values: {v: {text: {length: 99999999}}}",
	} {
		f.Add(head + rest)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x.yaml", []byte(text))
		if err != nil {
			checkProblems(t, err, len(text)+1)
			return
		}
		plan, err := file.Compile(t.TempDir())
		if err != nil {
			return
		}
		again, err := yaml.Marshal(file)
		testset.Must(t, err)
		second, err := Parse("y.yaml", again)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		plan2, err := second.Compile(t.TempDir())
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if heavy(file) {
			return
		}
		a := requests(plan, 3)
		b := requests(plan2, 3)
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("requests %q and %q of\n%s", a[i], b[i], again)
			}
			head, _, found := strings.Cut(a[i], "\r\n\r\n")
			if !found || strings.Count(head, "\n") != strings.Count(head, "\r\n") ||
				strings.Count(strings.SplitN(head, "\r\n", 2)[0], " ") != 2 {
				t.Errorf("request %q has no frame", a[i])
			}
		}
	})
}

// checkProblems checks that every mistake has a line of the file and a message.
func checkProblems(t *testing.T, err error, lines int) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v is no list of problems", err)
	}
	for _, p := range problems {
		if p.File != "x.yaml" || p.Line < 0 || p.Line > lines || strings.TrimSpace(p.Message) == "" {
			t.Errorf("problem %+v", p)
		}
	}
}

// heavy reports whether a scenario makes texts that would slow fuzzing down, or
// has no request of HTTP/1.1.
func heavy(f *File) bool {
	for _, v := range f.Values {
		if v.Text != nil && v.Text.Length > 1000 {
			return true
		}
	}
	for _, flow := range f.Flows {
		if flow.Steps[0].GRPC != "" {
			return true
		}
	}
	return false
}

func FuzzDuration(f *testing.F) {
	f.Add("1m30s")
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, err := d.MarshalText()
		if err != nil || again.UnmarshalText(out) != nil || again != d || time.Duration(d) < 0 {
			t.Errorf("%q: %v, again %v, %v", text, d, again, err)
		}
	})
}
