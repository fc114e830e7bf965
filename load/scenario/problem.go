package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a scenario.
type Problem struct {
	File    string // "" for a scenario that is not from a file
	Line    int    // 1 is the first; 0 where no line can be named
	Message string
}

// String is the problem as editors understand it: file:line: message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems are all mistakes of a scenario, in the order of lines. It is the
// error of Parse and Compile.
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
