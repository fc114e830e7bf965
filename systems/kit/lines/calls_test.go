package lines

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
)

// TestCallsHaveAllTheirCode: what the packages of calls import counts, too. That is all but the packages of
// settings that are off: security and spans.
func TestCallsHaveAllTheirCode(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, binding := range []string{"http", "http-lean", "grpc", "grpc-lean", "grpc-unix", ""} {
		packages := calls(binding, kit.Settings{Security: kit.Plain, Resilience: kit.Unguarded})
		for _, name := range packages {
			for _, needed := range importsOf(t, filepath.Join(root, name)) {
				if needed != "binding/secure" && needed != "binding/spans" && !slices.Contains(packages, needed) {
					t.Errorf("%s: %s does not count, which %s needs", binding, needed, name)
				}
			}
		}
	}
}

// importsOf returns the packages below binding that a package imports.
func importsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	testset.Must(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file.Name()), nil,
			parser.ImportsOnly)
		testset.Must(t, err)
		for _, used := range source.Imports {
			path, err := strconv.Unquote(used.Path.Value)
			testset.Must(t, err)
			if name, own := strings.CutPrefix(path, "github.com/cleave-lab/cleave/"); own &&
				strings.HasPrefix(name, "binding/") {
				names = append(names, name)
			}
		}
	}
	return names
}
