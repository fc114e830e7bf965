package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file.
type Problem struct {
	File    string // "" if it was not read from a file
	Line    int    // from 1; 0: unknown
	Message string
}

// String returns the problem in the form that editors understand: file:line: message.
func (p Problem) String() string {
	switch {
	case p.File == "" && p.Line == 0:
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	case p.File == "":
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems are the mistakes of one or several files, as one error.
type Problems []Problem

// Error implements error, one problem a line.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for _, problem := range p {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

// OrNil sorts the problems by file and line and returns them, or nil if there are none.
func (p Problems) OrNil() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	return p
}

// Problem notes a mistake at a line; 0 if the line is unknown.
func (r *Reader) Problem(line int, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{File: r.File, Line: line, Message: Message(format, args...)})
}
