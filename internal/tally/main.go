// Command tally reads the output of `go test -json` from its standard input and
// prints it for people: a line per package, the output of what failed, and at
// the end one line with how many tests passed and failed.
//
// Lines that are not JSON are passed on. Several runs may follow each other in
// one stream. It runs no tests itself. The exit code is 1 when a test or a
// package failed or when there was no test at all.
//
//	go test -json ./... | go run ./internal/tally
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func main() {
	t, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	fmt.Println(t)
	if t.failed > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

// read counts a whole stream and writes what people want to see.
func read(from io.Reader, to io.Writer) (*tally, error) {
	t := newTally(to)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			t.line(line)
		}
		if err == io.EOF {
			t.end()
			return t, t.err
		}
		if err != nil {
			return nil, fmt.Errorf("read test events: %w", err)
		}
	}
}
