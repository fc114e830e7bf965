// Package lines holds the number of lines of code of the packages that systems are built from. The counts are
// in counts.txt. This package's test compares them with the sources, or writes them:
//
//	go test ./systems/kit/lines -update
//
// Blank lines, comments, tests and generated files do not count.
//
// Entry points: OfSystem, and Of for systems that the kit does not host.
package lines

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// recursive ends the name of a folder that stands for all packages in and below it.
const recursive = "/..."

// countsText is the table of counts.
//
//go:embed counts.txt
var countsText string

// counts returns the lines of code by package.
var counts = sync.OnceValue(func() map[string]int {
	all, err := parse(countsText)
	if err != nil {
		panic(fmt.Sprintf("counts.txt: %v", err)) // a mistake in the program itself
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

// Of returns the lines of code of packages, by package. A package is named by its folder, such as
// systems/kit/front; systems/kit/... names all packages in and below a folder. Of panics if a package does
// not exist: that is a mistake in the program.
func Of(packages ...string) map[string]int {
	found := map[string]int{}
	for _, name := range packages {
		folder, below := strings.CutSuffix(name, recursive)
		known := false
		for path, lines := range counts() {
			isBelow := below && strings.HasPrefix(path, folder+"/")
			if isBelow || path == folder {
				found[path] = lines
				known = true
			}
		}
		if !known {
			panic(fmt.Sprintf("counts.txt does not have %s: go test ./systems/kit/lines -update", name))
		}
	}
	return found
}
