// Package lines knows how many lines of code the packages have that systems are built from. The counts are in
// counts.txt, which this package's test writes and holds to the sources:
//
//	go test ./systems/kit/lines -update
//
// Blank lines, comments, tests and generated files do not count.
//
// Entry point: Of.
package lines

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// whole ends the name of a folder with all that is below it.
const whole = "/..."

//go:embed counts.txt
var written string

// counts returns the lines of code by package.
var counts = sync.OnceValue(func() map[string]int {
	all, err := parse(written)
	if err != nil {
		panic(fmt.Sprintf("counts.txt: %v", err)) // it is a part of the program
	}
	return all
})

// parse reads a table with a line "PACKAGE LINES" for each package.
func parse(text string) (map[string]int, error) {
	all := map[string]int{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		all[name] = lines
	}
	return all, nil
}

// Of returns the lines of code of packages, by package. Packages are named by their folders, such as
// systems/kit/front; systems/kit/... names all packages in and below a folder. A name that no package has is
// a mistake in the program, and panics.
func Of(packages ...string) map[string]int {
	found := map[string]int{}
	for _, name := range packages {
		folder, below := strings.CutSuffix(name, whole)
		known := false
		for path, lines := range counts() {
			if path == folder || below && strings.HasPrefix(path, folder+"/") {
				found[path], known = lines, true
			}
		}
		if !known {
			panic(fmt.Sprintf("nobody has counted the lines of %s: go test ./systems/kit/lines -update", name))
		}
	}
	return found
}
