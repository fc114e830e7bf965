package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hostRooms lists the rooms that may use process numbers, loopback addresses and files of a host. To all
// others, units may run on another host.
func hostRooms() map[string][]string {
	return map[string][]string{
		"process number": {
			"deploy", "meter",
			"profiler/counters", "profiler/sampler", // look at processes of this host, as the meter does
			"store",       // writes it down
			"systems/big", // compares what a unit says of itself with what its deployer says
		},
		"loopback address": {
			"deploy", "load", "backing/named", // servers and targets that users name
			"backing/server",    // that two programs of one server speak over it
			"systems/external",  // where a program of the user's listens unless it says otherwise
			"systems/rehearsal", // where a unit asks itself, to measure what it takes
			"cmd",               // in examples of usage
			"report/serve",      // where this host's browsers find the runs
			"binding/grpcunary", // the authority that calls over a Unix socket name
		},
		"file of a host": {
			"deploy", "meter", "profiler", "store", "inputfile", "cmd", "docs", "internal",
			"run/folders.go",     // the folder for those of trials, which deployers fill
			"unit", "load/agent", // those of a unit's own, and what it hands over
			"load/trial",          // how much memory its own process has
			"backing",             // programs of servers, and databases that are part of a unit
			"binding/spans",       // a unit's own, and those that units have handed over
			"binding/secure",      // a unit's own
			"traces",              // those that a user names
			"systems/external",    // those that a system file names
			"systems/loaded",      // the history that the generator has handed over
			"systems/airline",     // units' own, handed over; where its runtimes are built
			"systems/people",      // a unit's own
			"systems/social",      // likewise
			"systems/rehearsal",   // likewise
			"systems/kit/hosting", // spans that units have handed over
			"systems/shop/assembly", "systems/shop/observation",
		},
	}
}

// hostThings finds the uses of such things in a Go file.
func hostThings(path string, text []byte) map[string][]string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return map[string][]string{"process number": {err.Error()}}
	}
	found := map[string][]string{}
	add := func(at token.Pos, what, said string) {
		found[what] = append(found[what], fmt.Sprintf("%s:%d: %s", path, files.Position(at).Line, said))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if n.Sel.Name == "PID" {
				add(n.Pos(), "process number", "PID")
			}
			if n.Sel.Name == "Loopback" && fmt.Sprint(n.X) == "launch" {
				add(n.Pos(), "loopback address", "launch.Loopback")
			}
			if name := fmt.Sprint(n.X) + "." + n.Sel.Name; slices.Contains(fileCalls(), name) {
				add(n.Pos(), "file of a host", name)
			}
		case *ast.BasicLit:
			said, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && (strings.Contains(said, "127.0.0.1") ||
				strings.Contains(said, "localhost") || strings.Contains(said, "::1")) {
				add(n.Pos(), "loopback address", n.Value)
			}
		}
		return true
	})
	return found
}

// fileCalls returns the file calls of the standard library that find, open, make or remove files.
func fileCalls() []string {
	return []string{
		"os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "os.WriteFile", "os.ReadDir", "os.Stat", "os.Lstat",
		"os.Mkdir", "os.MkdirAll",
		"os.MkdirTemp", "os.CreateTemp", "os.Rename", "os.Remove", "os.RemoveAll", "os.Symlink", "os.Link",
		"filepath.Glob", "filepath.WalkDir",
	}
}

// isForTests reports whether a file is of a benchmark, a test or what tests use.
func isForTests(path string) bool {
	return slices.ContainsFunc([]string{"/bench/", "test/", "/testdata/"},
		func(folder string) bool { return strings.Contains(path, folder) })
}

func TestOnlyTheSeamKnowsTheHost(t *testing.T) {
	used := map[string]bool{}
	eachSource(t, func(path string, text []byte) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || isForTests(path) {
			return
		}
		for what, places := range hostThings(path, text) {
			room := slices.IndexFunc(hostRooms()[what], func(room string) bool { return within(path, room) })
			if room < 0 {
				t.Errorf("%s: a %s belongs to a host. What runs elsewhere has none: ask the deployment, or take the "+
					"address that the deployer gave (internal/house has the list of who may)",
					strings.Join(places, ", "), what)
				continue
			}
			used[what+hostRooms()[what][room]] = true
		}
	})
	for what, rooms := range hostRooms() {
		for _, room := range rooms {
			if !used[what+room] {
				t.Errorf("%s knows no %s: take it off the list", room, what)
			}
		}
	}
}

func TestWhatKnowsTheHostIsFound(t *testing.T) {
	const head = "package a\n\n"
	for text, want := range map[string]string{
		head + "var x = unit.PID":                       "process number",
		head + `var x = "http://127.0.0.1:80"`:          "loopback address",
		head + `var x = "localhost"`:                    "loopback address",
		head + "var x = launch.Loopback(8080)":          "loopback address",
		head + `var x, err = os.ReadFile("spans")`:      "file of a host",
		head + "// It is at 127.0.0.1.\nvar x = 1":      "",
		head + "var x = target.Loopback":                "",
		head + `var x = "198.18.0.1:80" + pid.String()`: "",
	} {
		found := hostThings("a.go", []byte(text))
		if len(found) > 1 || want == "" && len(found) > 0 || want != "" && len(found[want]) != 1 {
			t.Errorf("%q: %v, want one %q", text, found, want)
		}
	}
}
