package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// comments holds the doc comments and the constants of the types of a package.
type comments struct {
	// about holds the comments of "Type" and "Type.Field".
	about map[string]string
	// constants holds the values of the string constants of a type, in order.
	constants map[string][]string
}

// readComments parses the sources in a folder, tests left out.
func readComments(folder string) (comments, error) {
	c := comments{about: make(map[string]string), constants: make(map[string][]string)}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return c, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return c, err
		}
		c.readFile(file)
	}
	if len(c.about) == 0 {
		return c, fmt.Errorf("no commented types in %s: name the folder of package lab with -lab", folder)
	}
	return c, nil
}

// readFile takes the declarations of one file.
func (c comments) readFile(file *ast.File) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				c.readType(group, s)
			case *ast.ValueSpec:
				c.readConstant(s)
			}
		}
	}
}

// nonWord matches what separates names in a comment.
var nonWord = regexp.MustCompile(`\W+`)

// readType takes the comments of a type and of its fields. A field without a comment takes the last one above
// it, if that names the field: "Low and High are ...".
func (c comments) readType(group *ast.GenDecl, s *ast.TypeSpec) {
	c.about[s.Name.Name] = oneLine(group.Doc, s.Doc)
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	last := ""
	for _, field := range structure.Fields.List {
		own := oneLine(field.Doc, field.Comment)
		last = cmp.Or(own, last)
		for _, name := range field.Names {
			if own != "" || slices.Contains(nonWord.Split(last, -1), name.Name) {
				c.about[s.Name.Name+"."+name.Name] = last
			}
		}
	}
}

// readConstant takes a string constant whose type is named beside it. It does not tell constants
// from variables.
func (c comments) readConstant(s *ast.ValueSpec) {
	kind, ok := s.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, value := range s.Values {
		literal, ok := value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			c.constants[kind.Name] = append(c.constants[kind.Name], text)
		}
	}
}

// oneLine joins comments into one line.
func oneLine(groups ...*ast.CommentGroup) string {
	var words []string
	for _, group := range groups {
		words = append(words, strings.Fields(group.Text())...)
	}
	return strings.Join(words, " ")
}
