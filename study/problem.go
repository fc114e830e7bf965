package study

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a study file.
type Problem struct {
	File    string
	Line    int // 1 is the first; 0 where no line can be named
	Message string
}

// String is the problem as editors understand it: file:line: message.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems are all mistakes of a study file, in the order of lines. It is the
// error of Parse and Resolve.
type Problems []Problem

// Error implements error, one problem a line.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for _, problem := range p {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

// orNil returns the problems sorted, or nil where there are none.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return a.Line - b.Line })
	return p
}
