package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines     = 450
	maxFunctionLines = 60
	// longBecause begins the reason in the comment of a function that may have more lines.
	longBecause = "Long because"
)

// root returns the top of the checkout.
func root(t *testing.T) string {
	t.Helper()
	directory, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

// isSkipped reports whether a folder has no source files of ours.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") ||
		slices.Contains([]string{"node_modules", "dist", "third_party", "testdata", "target", "bin", "results"},
			name)
}

// isSource reports whether a file has source code, to which the rules on length apply.
func isSource(name string) bool {
	return slices.Contains([]string{".go", ".ts", ".tsx", ".css", ".sh", ".rs", ".java"}, filepath.Ext(name))
}

// generatedMark matches the line that marks generated files, in any language (the convention of the Go tool,
// https://go.dev/s/generatedcode).
var generatedMark = regexp.MustCompile(`(?m)^.{0,3}\s*Code generated .*DO NOT EDIT`)

// isGenerated reports whether a file has generatedMark near its top.
func isGenerated(text []byte) bool {
	return generatedMark.Match(text[:min(len(text), 2000)])
}

// eachSource visits all source files that are not generated, by their path below the root.
func eachSource(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	eachFile(t, isSource, func(path string, text []byte) {
		if !isGenerated(text) {
			visit(path, text)
		}
	})
}

// eachFile visits all files whose name is wanted, by their path below the root.
func eachFile(t *testing.T, wanted func(name string) bool, visit func(path string, text []byte)) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != top && isSkipped(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !wanted(entry.Name()):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			visit(strings.TrimPrefix(path, top+"/"), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lengthComplaints returns a complaint if a file is too long.
func lengthComplaints(path string, text []byte) []string {
	if lines := bytes.Count(text, []byte{'\n'}); lines > maxFileLines {
		return []string{fmt.Sprintf("%s has %d lines, more than %d: it holds more than one thing", path, lines,
			maxFileLines)}
	}
	return nil
}

// complaints returns the violations of the rules for Go in one file.
func complaints(path string, text []byte) []string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			found = append(found, functionComplaints(files, path, d)...)
		case *ast.GenDecl:
			if !strings.HasSuffix(path, "_test.go") {
				found = append(found, undocumented(files, path, d)...)
			}
		}
	}
	return found
}

// functionComplaints returns complaints about a function's length, name, comment and return statements.
func functionComplaints(files *token.FileSet, path string, f *ast.FuncDecl) []string {
	var found []string
	at := fmt.Sprintf("%s:%d", path, files.Position(f.Pos()).Line)
	if f.Name.Name == "init" && f.Recv == nil {
		found = append(found, at+" has an init function: nothing may happen before main; wire it in cmd")
	}
	lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
	if lines > maxFunctionLines && !strings.Contains(f.Doc.Text(), longBecause) {
		found = append(found, fmt.Sprintf("%s: %s has %d lines, more than %d: split it, or say %q in its comment",
			at, f.Name.Name, lines, maxFunctionLines, longBecause+" ..."))
	}
	if !strings.HasSuffix(path, "_test.go") && f.Name.IsExported() && receiverExported(f) && f.Doc == nil {
		found = append(found, fmt.Sprintf("%s: %s is exported and has no comment", at, f.Name.Name))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		r, is := n.(*ast.ReturnStmt)
		if is && readsTooEarly(r.Results) {
			found = append(found, fmt.Sprintf("%s:%d: the content is read before the writer is closed: close it in "+
				"a statement of its own", path, files.Position(r.Pos()).Line))
		}
		if is && readWhileFilled(r.Results) {
			found = append(found, fmt.Sprintf("%s:%d: a variable may be read before the call that gets its address: "+
				"call in a statement of its own", path, files.Position(r.Pos()).Line))
		}
		return true
	})
	return found
}

// readWhileFilled reports whether one of the results is a variable, or a part of it, and another result takes
// the address of that variable. Go may read the variable before or after a call that fills it.
func readWhileFilled(results []ast.Expr) bool {
	return slices.ContainsFunc(results, func(read ast.Expr) bool {
		name := variableOf(read)
		return name != "" && slices.ContainsFunc(results, func(other ast.Expr) bool {
			return takesAddress(other, name)
		})
	})
}

// variableOf returns the name of the variable in x, x.y, x[0] and so on; "" for other expressions.
func variableOf(of ast.Expr) string {
	for {
		switch e := of.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			of = e.X
		case *ast.IndexExpr:
			of = e.X
		default:
			return ""
		}
	}
}

// takesAddress reports whether an expression takes the address of a variable or of a part of it.
func takesAddress(expression ast.Expr, name string) bool {
	found := false
	ast.Inspect(expression, func(n ast.Node) bool {
		u, is := n.(*ast.UnaryExpr)
		found = found || is && u.Op == token.AND && variableOf(u.X) == name
		return !found
	})
	return found
}

// readsTooEarly reports whether a result is the content of a buffer, and a later result closes the writer to
// the buffer. Go evaluates calls from left to right: the content would lack the bytes that Close writes.
func readsTooEarly(results []ast.Expr) bool {
	read := false
	for _, result := range results {
		if read && calls(result, "Close", "Flush") {
			return true
		}
		read = read || calls(result, "Bytes", "String")
	}
	return false
}

// calls reports whether an expression calls a method with one of these names. It ignores calls inside of
// function literals.
func calls(expression ast.Expr, names ...string) bool {
	found := false
	ast.Inspect(expression, func(n ast.Node) bool {
		if _, literal := n.(*ast.FuncLit); literal {
			return false
		}
		if call, is := n.(*ast.CallExpr); is {
			method, is := call.Fun.(*ast.SelectorExpr)
			found = found || is && slices.Contains(names, method.Sel.Name)
		}
		return !found
	})
	return found
}

// receiverExported reports whether a method has an exported receiver type. It is also
// true for functions.
func receiverExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	kind := f.Recv.List[0].Type
	for {
		switch k := kind.(type) {
		case *ast.StarExpr:
			kind = k.X
		case *ast.IndexExpr:
			kind = k.X
		case *ast.IndexListExpr:
			kind = k.X
		case *ast.Ident:
			return k.IsExported()
		default:
			return true
		}
	}
}

// undocumented returns a complaint for each exported type, constant or variable that has no comment: neither
// above it, nor on its line, nor above its group.
func undocumented(files *token.FileSet, path string, d *ast.GenDecl) []string {
	if d.Doc != nil && d.Lparen.IsValid() {
		return nil
	}
	var found []string
	missing := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		explained := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil })
		if name.IsExported() && !explained {
			found = append(found, fmt.Sprintf("%s:%d: %s is exported and has no comment", path,
				files.Position(name.Pos()).Line, name.Name))
		}
	}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			missing(s.Name, d.Doc, s.Doc)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				missing(name, d.Doc, s.Doc, s.Comment)
			}
		}
	}
	return found
}

func TestSourcesKeepTheRules(t *testing.T) {
	eachSource(t, func(path string, text []byte) {
		found := lengthComplaints(path, text)
		if filepath.Ext(path) == ".go" {
			found = append(found, complaints(path, text)...)
		}
		for _, complaint := range found {
			t.Error(complaint)
		}
	})
}

func TestSourceRulesCanFail(t *testing.T) {
	long := strings.Repeat("\t_ = 0\n", maxFunctionLines)
	cases := []struct {
		name, path, text, complaint string // no complaint: allowed
	}{
		{"short", "a.go", "// Package a is.\npackage a\n\n// F does.\nfunc F() {}\n", ""},
		{"long function", "a.go", "package a\n\nfunc f() {\n" + long + "}\n", "has 62 lines, more than 60"},
		{"long with a reason", "a.go", "package a\n\n// f does. Long because it is a table.\nfunc f() {\n" + long +
			"}\n", ""},
		{"long test", "a_test.go", "package a\n\nfunc f() {\n" + long + "}\n", "has 62 lines, more than 60"},
		{"init", "a.go", "package a\n\nfunc init() {}\n", "has an init function"},
		{"method called init", "a.go", "package a\n\ntype t int\n\nfunc (t) init() {}\n", ""},
		{"function", "a.go", "package a\n\nfunc F() {}\n", "F is exported"},
		{"function of a test", "a_test.go", "package a\n\nfunc F() {}\n", ""},
		{"method", "a.go", "package a\n\n// T is.\ntype T[K any] int\n\nfunc (t *T[K]) M() {}\n", "M is exported"},
		{"method of an unexported type", "a.go", "package a\n\ntype t int\n\nfunc (t) M() {}\n", ""},
		{"type", "a.go", "package a\n\ntype T int\n", "T is exported"},
		{"constant", "a.go", "package a\n\nconst C = 1\n", "C is exported"},
		{"variable in a group", "a.go", "package a\n\nvar (\n\tv = 1\n\tW = 2\n)\n", "W is exported"},
		{"group with one comment", "a.go", "package a\n\n// All of them.\nconst (\n\tA = 1\n\tB = 2\n)\n", ""},
		{"comment on the line", "a.go", "package a\n\nconst (\n\tA = 1 // first\n)\n", ""},
		{"content read too early", "a.go", "package a\n\nfunc f() { return b.Bytes(), join(err, w.Close()) }\n",
			"a.go:3: the content is read before the writer is closed"},
		{"content read after the end", "a.go",
			"package a\n\nfunc f() { err = w.Close(); return b.Bytes(), err }\n", ""},
		{"not Go", "a.go", "pack a", "expected 'package'"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := strings.Join(complaints(c.path, []byte(c.text)), "\n")
			if c.complaint == "" && found != "" || !strings.Contains(found, c.complaint) {
				t.Errorf("complaints = %q, want %q", found, c.complaint)
			}
		})
	}
	if found := lengthComplaints("a.css", bytes.Repeat([]byte{'\n'}, maxFileLines+1)); len(found) != 1 {
		t.Errorf("a file of %d lines: %v", maxFileLines+1, found)
	}
}

func TestGeneratedFilesAreKnown(t *testing.T) {
	cases := []struct {
		text string
		want bool
	}{
		{"// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n", true},
		{"# Code generated by make generate. DO NOT EDIT.\n", true},
		{"// Package a is about code generated by others.\npackage a\n", false},
		{"package a\n\nconst mark = `Code generated x DO NOT EDIT`\n", false},
	}
	for _, c := range cases {
		if got := isGenerated([]byte(c.text)); got != c.want {
			t.Errorf("isGenerated(%q) = %v", c.text, got)
		}
	}
}
