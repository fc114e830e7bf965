package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// systemList is the list of all systems. Except for a system's own folder and its unit program,
// it is the only file that names the system, in one line.
const systemList = "cmd/cleave/systems.go"

// unitProgram returns the file with the main function of a system's units.
func unitProgram(system string) string { return "cmd/unit/" + system + "/main.go" }

// isAnotherProgram reports whether a file is the main function of a further unit program of a
// system, for units that need their own.
func isAnotherProgram(path, system string) bool {
	matched, err := filepath.Match("cmd/unit/"+system+"-*/main.go", path)
	return matched && err == nil
}

// systemsOf returns the folders below systems from which a file imports packages.
func systemsOf(t *testing.T, path string, text []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, spec := range file.Imports {
		if below, is := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/systems/"); is {
			name, _, _ := strings.Cut(below, "/")
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// mentions returns the lines of a Go file that name a system: in an import, as an identifier or as a word of
// a text. Comments and examples of usage may name it. A text may contain the word as a part of another name,
// such as shop.example or shop.yaml.
func mentions(path string, text []byte, system string) []string {
	if !bytes.Contains(text, []byte(system)) {
		return nil // most files: parsing each of them for every system takes long
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return []string{err.Error()}
	}
	word := regexp.MustCompile(`(?:^|[^\w.-])` + system + `(?:$|[^\w.-]|[.-](?:$|\W))`)
	packages := map[string]bool{} // names of imported packages; only their paths are checked
	var found []string
	add := func(at token.Pos, what string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", path, files.Position(at).Line, what))
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		packages[filepath.Base(imported)] = true
		if within(imported, module+"/systems/"+system) {
			add(spec.Pos(), "imports "+imported)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is && key.Name == "Example" {
				return false
			}
		case *ast.Ident:
			if n.Name == system && !packages[system] {
				add(n.Pos(), "is called "+n.Name)
			}
		case *ast.BasicLit:
			if said, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && word.MatchString(said) {
				add(n.Pos(), "says "+n.Value)
			}
		}
		return true
	})
	return found
}

// mayName reports whether a file may name systems: whether it belongs to a system, a study, a document, a
// program of others that is measured for comparison (peers), or a test.
func mayName(path string) bool {
	folders := []string{"systems", "studies", "docs", "peers"}
	return strings.HasSuffix(path, "_test.go") ||
		slices.ContainsFunc(folders, func(f string) bool { return within(path, f) })
}

func TestRoomsNameNoSystem(t *testing.T) {
	top := root(t)
	imported := func(path string) []string {
		text, err := os.ReadFile(filepath.Join(top, path))
		if err != nil {
			t.Fatal(err)
		}
		return systemsOf(t, path, text)
	}
	systems := imported(systemList)
	if len(systems) < 2 {
		t.Fatalf("%s has %v", systemList, systems)
	}
	for _, system := range systems {
		if in := imported(unitProgram(system)); !slices.Equal(in, []string{system}) {
			t.Errorf("%s imports the systems %v, want only %s", unitProgram(system), in, system)
		}
	}
	eachSource(t, func(path string, text []byte) {
		if filepath.Ext(path) != ".go" || mayName(path) || path == systemList {
			return
		}
		for _, system := range systems {
			if path == unitProgram(system) || isAnotherProgram(path, system) {
				continue
			}
			for _, mention := range mentions(path, text, system) {
				t.Errorf("%s. A system is a folder, a line in %s and a unit program; commands and reports read the "+
					"rest from its interfaces (lab.SystemInfo, lab.Metric, lab.Checkable, lab.Explainable, lab.Backed)",
					mention, systemList)
			}
		}
	})
}

func TestRoomsThatNameASystemAreFound(t *testing.T) {
	const head = "package a\n\n"
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"import":                {head + `import "` + module + `/systems/shop/system"`, 1},
		"renamed import":        {head + `import s "` + module + `/systems/shop"`, 1},
		"another import":        {head + `import "` + module + `/systems/shopping"`, 0},
		"identifier":            {head + "var shop = 1", 1},
		"package of that name":  {head + "import \"math/shop\"\nvar x = shop.Int{}", 0},
		"text":                  {head + `const x = "shop"`, 1},
		"word of a text":        {head + `const x = "The systems that can be checked: shop."`, 1},
		"folder":                {head + `const x = "systems/shop"`, 1},
		"comment":               {head + "// shop is one.\nvar x = 1", 0},
		"name of a host":        {head + `const x = "https://shop.example:80/shop.Orders"`, 0},
		"part of a word":        {head + `const x = "workshop shop-1 shopping"`, 0},
		"example":               {head + `var x = command{Example: "cleave check shop"}`, 0},
		"another field":         {head + `var x = command{Example: "x", Long: "as in cleave check shop"}`, 1},
		"a character":           {head + "const x = 's'", 0},
		"a file that is not Go": {"pack shop", 1},
		"a field":               {head + "type T struct{ shop int }", 1},
	} {
		if found := mentions("a.go", []byte(c.text), "shop"); len(found) != c.want {
			t.Errorf("%s: %v, want %d", name, found, c.want)
		}
	}
}

// ownScript reports whether a script belongs to one system, such as one that builds its programs in other
// languages.
func ownScript(path, system string) bool { return strings.HasPrefix(path, "scripts/"+system+"-") }

// listedFile matches a line of the list in DESIGN.md of the files to change when a system is added.
var listedFile = regexp.MustCompile("(?m)^- `([^`<]+)`")

// TestTheDesignSaysWhatAddingASystemTakes: the files that name a system, outside its
// folder, its studies and documents, are exactly those that DESIGN.md lists.
func TestTheDesignSaysWhatAddingASystemTakes(t *testing.T) {
	top := root(t)
	design, err := os.ReadFile(filepath.Join(top, "DESIGN.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(design), "\n## Add a system\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, line := range listedFile.FindAllStringSubmatch(section, -1) {
		listed = append(listed, line[1])
	}
	slices.Sort(listed)
	if !found || len(listed) == 0 {
		t.Fatal("DESIGN.md has no list of files under \"Add a system\"")
	}
	makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(top, systemList))
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range systemsOf(t, systemList, list) {
		var touched []string
		expected := listed
		if strings.Contains(string(makefile), "systems/"+system+"/") {
			touched = append(touched, "Makefile")
		} else if _, err := os.Stat(filepath.Join(top, "systems", system, "bench")); err != nil {
			// A system without a benchmark needs no target in the Makefile.
			expected = slices.DeleteFunc(slices.Clone(listed), func(file string) bool { return file == "Makefile" })
		}
		eachSource(t, func(path string, text []byte) {
			if filepath.Ext(path) == ".go" && !mayName(path) && !isAnotherProgram(path, system) &&
				len(mentions(path, text, system)) > 0 ||
				filepath.Ext(path) == ".sh" && !ownScript(path, system) &&
					strings.Contains(string(text), "systems/"+system) {
				touched = append(touched, path)
			}
		})
		want := strings.ReplaceAll(strings.Join(expected, " "), "NAME", system)
		if slices.Sort(touched); strings.Join(touched, " ") != want {
			t.Errorf("%s is named by %v; DESIGN.md lists %s", system, touched, want)
		}
	}
}

// metricName matches texts that end like the name of a metric (cpu_per_operation), and an ending alone
// (_p99). In reports such a text can only name a metric, because JSON fields with such names are all in
// package lab.
var metricName = regexp.MustCompile(`_(p[0-9]+|per|per_.*)$|^_`)

// metricNames returns the texts in a Go file that metricName matches, with their lines.
func metricNames(path string, text []byte) []string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if said, err := strconv.Unquote(literal.Value); err == nil && metricName.MatchString(said) &&
				said != "_" {
				found = append(found, fmt.Sprintf("%s:%d: %s", path, files.Position(literal.Pos()).Line, literal.Value))
			}
		}
		return true
	})
	return found
}

func TestReportsNameNoMetrics(t *testing.T) {
	eachSource(t, func(path string, text []byte) {
		if !within(path, "report") || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, found := range metricNames(path, text) {
			t.Errorf("%s is the name of a metric, or an ending of one: another system has other names: use "+
				"the fields of lab.Metric", found)
		}
	})
	for text, want := range map[string]int{
		`"_p99"`: 1, `"completion_time_p50"`: 1, `"cpu_per_operation"`: 1, `"_per_"`: 1, `"_share"`: 1,
		`"steal_share"`: 0, `"_"`: 0, `"per operation"`: 0,
	} {
		if found := metricNames("a.go", []byte("package a\n\nvar x = "+text)); len(found) != want {
			t.Errorf("%s: %v, want %d", text, found, want)
		}
	}
}
