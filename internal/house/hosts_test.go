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

// hostRooms returns the rooms that may use process numbers, loopback addresses and files of a host, by kind.
// In all other rooms units may run on other hosts, where these mean nothing.
func hostRooms() map[string][]string {
	return map[string][]string{
		"process number": {
			"deploy", "meter",
			"profiler/counters", "profiler/sampler", // profile processes of this host, as the meter does
			"store",       // stores it
			"systems/big", // compares a unit's own PID with that of its deployer
		},
		"loopback address": {
			"deploy",                // assigns addresses to units of this host
			"load", "backing/named", // targets and servers that users name
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
			"load/trial",               // reads the memory of its own process
			"backing",                  // programs of servers, and embedded databases
			"binding/spans",            // files of a unit, and files that units have handed over
			"binding/secure",           // a file of a unit
			"traces",                   // files that a user names
			"systems/external",         // files that a system file names
			"systems/loaded",           // the history that the generator has handed over
			"systems/airline",          // files of units, files to hand over, and its built runtimes
			"systems/people",           // files of a unit
			"systems/social",           // likewise
			"systems/rehearsal",        // likewise
			"systems/kit/hosting",      // spans that units have handed over
			"systems/shop/assembly",    // files of a unit
			"systems/shop/observation", // files of a unit, and files that units have handed over
		},
	}
}

// hostUses returns the places in a Go file that use a process number, a loopback address or a file of a host,
// by kind.
func hostUses(path string, text []byte) map[string][]string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return map[string][]string{"process number": {err.Error()}} // of any kind, so that the test fails
	}
	found := map[string][]string{}
	add := func(at token.Pos, kind, text string) {
		found[kind] = append(found[kind], fmt.Sprintf("%s:%d: %s", path, files.Position(at).Line, text))
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
			text, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && (strings.Contains(text, "127.0.0.1") ||
				strings.Contains(text, "localhost") || strings.Contains(text, "::1")) {
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
		"os.Open", "os.OpenFile", "os.OpenRoot", "os.OpenInRoot", "os.DirFS", "os.CopyFS", "os.Create",
		"os.ReadFile", "os.WriteFile", "os.ReadDir", "os.Stat", "os.Lstat", "os.Mkdir", "os.MkdirAll",
		"os.MkdirTemp", "os.CreateTemp", "os.Rename", "os.Remove", "os.RemoveAll", "os.Symlink", "os.Link",
		"filepath.Glob", "filepath.Walk", "filepath.WalkDir",
	}
}

// isForTests reports whether a file belongs to a benchmark, or to a package or program for tests.
func isForTests(path string) bool {
	// Packages for tests have names that end in "test", such as deploytest.
	return slices.ContainsFunc([]string{"/bench/", "test/", "/testdata/"},
		func(folder string) bool { return strings.Contains(path, folder) })
}

func TestOnlyHostRoomsUseTheHost(t *testing.T) {
	used := map[string]bool{}
	eachSource(t, func(path string, text []byte) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || isForTests(path) {
			return
		}
		for kind, places := range hostUses(path, text) {
			room := slices.IndexFunc(hostRooms()[kind], func(room string) bool { return within(path, room) })
			if room < 0 {
				t.Errorf("%s: a %s is valid on one host only, and units may run on another: ask the deployment, or "+
					"use the address from the deployer (hostRooms in internal/house lists the exceptions)",
					strings.Join(places, ", "), kind)
				continue
			}
			used[kind+hostRooms()[kind][room]] = true
		}
	})
	for kind, rooms := range hostRooms() {
		for _, room := range rooms {
			if !used[kind+room] {
				t.Errorf("%s uses no %s: remove it from hostRooms", room, kind)
			}
		}
	}
}

func TestUsesOfTheHostAreFound(t *testing.T) {
	const head = "package a\n\n"
	for text, want := range map[string]string{
		head + "var x = unit.PID":                       "process number",
		head + `var x = "http://127.0.0.1:80"`:          "loopback address",
		head + `var x = "localhost"`:                    "loopback address",
		head + "var x = launch.Loopback(8080)":          "loopback address",
		head + `var x, err = os.ReadFile("spans")`:      "file of a host",
		head + `var x, err = os.OpenRoot("spans")`:      "file of a host",
		head + `var x = filepath.Walk("spans", f)`:      "file of a host",
		head + "// It is at 127.0.0.1.\nvar x = 1":      "",
		head + "var x = target.Loopback":                "",
		head + `var x = "198.18.0.1:80" + pid.String()`: "",
	} {
		found := hostUses("a.go", []byte(text))
		if len(found) > 1 || want == "" && len(found) > 0 || want != "" && len(found[want]) != 1 {
			t.Errorf("%q: %v, want one %q", text, found, want)
		}
	}
}
