package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// crowded returns the places of statements that assign several values which have nothing to do with each
// other: each belongs on a line of its own. Two variables may get simple values together, as in
// `low, high := a.Low, a.High`, and values may change places. Clauses of if, for and switch are not
// looked at.
func crowded(path string, text []byte) []string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		var statements []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			statements = n.List
		case *ast.CaseClause:
			statements = n.Body
		case *ast.CommClause:
			statements = n.Body
		}
		for _, s := range statements {
			a, is := s.(*ast.AssignStmt)
			oneLine := is && files.Position(n.Pos()).Line == files.Position(n.End()).Line
			if is && len(a.Rhs) > 1 && !dependent(a) && (computes(a) || !oneLine && assignsMore(a)) {
				found = append(found, fmt.Sprintf("%s:%d assigns values that have nothing to do with each other: give "+
					"each a line of its own", path, files.Position(a.Pos()).Line))
			}
		}
		return true
	})
	return found
}

// assignsMore reports whether a statement assigns more than two values, or one to a field or an element.
func assignsMore(a *ast.AssignStmt) bool {
	return len(a.Lhs) > 2 || slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool {
		_, variable := e.(*ast.Ident)
		return !variable
	})
}

// computes reports whether one of the values is that of a call, a literal of a type or a function.
func computes(a *ast.AssignStmt) bool {
	simple := []string{"len", "cap", "float64", "int", "int32", "int64", "uint64", "string"}
	return slices.ContainsFunc(a.Rhs, func(e ast.Expr) bool {
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.CompositeLit:
				found = true
			case *ast.CallExpr:
				name, is := n.Fun.(*ast.Ident)
				found = found || !is || !slices.Contains(simple, name.Name)
			}
			return !found
		})
		return found
	})
}

// dependent reports whether a value mentions a variable to which another value is assigned.
func dependent(a *ast.AssignStmt) bool {
	for i, to := range a.Lhs {
		name := variableOf(to)
		for k, value := range a.Rhs {
			if i != k && name != "_" && uses(value, name) {
				return true
			}
		}
	}
	return false
}

// uses reports whether an expression contains a variable.
func uses(e ast.Expr, name string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		found = found || is && id.Name == name
		return !found
	})
	return found
}

func TestAStatementAssignsOneValue(t *testing.T) {
	eachSource(t, func(path string, text []byte) {
		if filepath.Ext(path) != ".go" {
			return
		}
		for _, complaint := range crowded(path, text) {
			t.Error(complaint)
		}
	})
}

func TestTheRuleOfAssignmentsCanFail(t *testing.T) {
	for statement, allowed := range map[string]bool{
		"a, b := f(), g()":          false,
		"a, b := 1, []int{}":        false,
		"a, b := 1, func() {}":      false,
		"x.a, x.b = 1, 2":           false,
		"a, b, c := 1, 2, 3":        false,
		"if a, b := f(), g(); a {}": true,
		"a, b := f()":               true,
		"a, b := x.a, x.b":          true,
		"a, b := 0, len(x)":         true,
		"x.a, x.b = x.b, x.a":       true,
		"a, b = b, f()":             true,
	} {
		found := crowded("a.go", []byte("package a\n\nfunc h() {\n\t"+statement+"\n}\n"))
		if allowed != (len(found) == 0) {
			t.Errorf("%s: allowed: %t, want %t: %q", statement, !allowed, allowed, found)
		}
	}
}
