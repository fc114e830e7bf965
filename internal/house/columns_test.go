package house

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the maximum length of a line in characters; a tab counts as one.
const maxColumns = 110

// tooWide returns a complaint for each line of a file that is longer than maxColumns and not exempt.
func tooWide(path string, text []byte, exempt func(number int, line string) bool) []string {
	var found []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		columns := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		if columns > maxColumns && !exempt(number, line) {
			found = append(found, fmt.Sprintf("%s:%d has %d columns, more than %d", path, number, columns, maxColumns))
		}
	}
	return found
}

// rawLines returns the numbers of the lines of a Go file with raw strings, which cannot be wrapped.
func rawLines(text []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, what, literal := s.Scan()
		switch {
		case what == token.EOF:
			return lines
		case what == token.STRING && literal[0] == '`':
			first := files.Position(at).Line
			for i := range strings.Count(literal, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}

// mayBeWide returns a function that reports whether a line of a Markdown text may be long: rows of tables,
// fenced blocks, and single words, such as addresses.
func mayBeWide(text []byte) func(int, string) bool {
	fenced := map[int]bool{}
	within, number := false, 0
	for line := range bytes.Lines(text) {
		number++
		fence := bytes.HasPrefix(bytes.TrimSpace(line), []byte("```"))
		fenced[number] = within || fence
		within = within != fence
	}
	return func(number int, line string) bool {
		line = strings.TrimSpace(line)
		return fenced[number] || strings.HasPrefix(line, "|") || !strings.Contains(line, " ")
	}
}

// TestLinesAreShort checks sources and documents that are not generated.
func TestLinesAreShort(t *testing.T) {
	eachSource(t, func(path string, text []byte) {
		inStrings := map[int]bool{}
		if filepath.Ext(path) == ".go" {
			inStrings = rawLines(text)
		}
		inString := func(number int, _ string) bool { return inStrings[number] }
		for _, complaint := range tooWide(path, text, inString) {
			t.Error(complaint)
		}
	})
	document := func(name string) bool { return filepath.Ext(name) == ".md" }
	eachFile(t, document, func(path string, text []byte) {
		for _, complaint := range tooWide(path, text, mayBeWide(text)) {
			t.Error(complaint)
		}
	})
}

func TestWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("word ", 30)
	source := "package p\n\nvar a = `" + long + "\n" + long + "`\n\nvar b = \"" + long + "\"\n"
	inStrings := rawLines([]byte(source))
	found := tooWide("p.go", []byte(source), func(number int, _ string) bool { return inStrings[number] })
	if !slices.Equal(found, []string{"p.go:6 has 160 columns, more than 110"}) {
		t.Errorf("in a source: %q", found)
	}
	document := "# " + long + "\n| " + long + "|\n```\n" + long + "\n```\n- " + long + "\n" +
		strings.Repeat("x", 200) + "\n" +
		strings.Repeat("é", maxColumns) + "\n"
	found = tooWide("d.md", []byte(document), mayBeWide([]byte(document)))
	if !slices.Equal(found, []string{"d.md:1 has 152 columns, more than 110",
		"d.md:6 has 152 columns, more than 110"}) {
		t.Errorf("in a document: %q", found)
	}
}
