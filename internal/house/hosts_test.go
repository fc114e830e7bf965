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

// hostRooms returns the rooms that may use process numbers, loopback addresses and files of a host. For all
// other rooms units may run on other hosts.
func hostRooms() map[string][]string {
	return map[string][]string{
		"process number": {
			"deploy", "meter",
			"profiler/counters", "profiler/sampler", // profile processes of this host, as the meter does
			"store",       // stores it
			"systems/big", // compares a unit's own PID with that of its deployer
		},
		"loopback address": {
			"deploy", "load", "backing/named", // servers and targets that users name
			"backing/server",    // connects two programs of one server
			"systems/external",  // the default address of a program of the user
			"systems/rehearsal", // a unit calls itself to measure the cost of a call
			"cmd",               // in examples of usage
			"report/serve",      // serves runs to browsers of this host
			"binding/grpcunary", // the authority of calls over a Unix socket
		},
		"file of a host": {
			"deploy", "meter", "profiler", "store", "inputfile", "cmd", "docs", "internal",
			"run/folders.go",     // creates the folder of a trial, which deployers fill
			"unit", "load/agent", // files of a unit, and files to hand over
			"load/trial",          // reads the memory of its own process
			"backing",             // programs of servers, and embedded databases
			"binding/spans",       // files of a unit, and files that units have handed over
			"binding/secure",      // a file of a unit
			"traces",              // files that a user names
			"systems/external",    // files that a system file names
			"systems/loaded",      // the history that the generator has handed over
			"systems/airline",     // files of units, files to hand over, and its built runtimes
			"systems/people",      // files of a unit
			"systems/social",      // likewise
			"systems/rehearsal",   // likewise
			"systems/kit/hosting", // spans that units have handed over
			"systems/shop/assembly", "systems/shop/observation",
		},
	}
}

// hostThings returns the places in a Go file that use a process number, a loopback address or a file of a
// host, by kind.
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

// fileCalls returns the functions of the standard library that find, open, create or remove files.
func fileCalls() []string {
	return []string{
		"os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "os.WriteFile", "os.ReadDir", "os.Stat", "os.Lstat",
		"os.Mkdir", "os.MkdirAll",
		"os.MkdirTemp", "os.CreateTemp", "os.Rename", "os.Remove", "os.RemoveAll", "os.Symlink", "os.Link",
		"filepath.Glob", "filepath.WalkDir",
	}
}

// isForTests reports whether a file belongs to a benchmark, or to a package or program for tests.
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
