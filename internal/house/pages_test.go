package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedPath matches a path of the source tree in a page (a section) of DESIGN.md: words separated by slashes.
var namedPath = regexp.MustCompile("`([a-z]+(?:/[A-Za-z_.-]+)+)`")

// TestPagesNameExistingFiles: the pages about adding a system, a deployer, a backing or a
// metric name only files and folders that exist.
func TestPagesNameExistingFiles(t *testing.T) {
	design, err := os.ReadFile(filepath.Join(root(t), "DESIGN.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"Add a system", "Add a deployer", "Add a backing", "Add a metric"} {
		_, text, found := strings.Cut(string(design), "\n## "+page+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		paths := namedPath.FindAllStringSubmatch(text, -1)
		if !found || len(paths) == 0 {
			t.Errorf("DESIGN.md has no page %q that names files", page)
		}
		for _, path := range paths {
			if strings.Contains(path[1], "NAME") {
				continue // a placeholder
			}
			if _, err := os.Stat(filepath.Join(root(t), path[1])); err != nil {
				t.Errorf("%s names %s, which does not exist: %v", page, path[1], err)
			}
		}
	}
}

// TestEveryDeployerIsListedAndTested: every deployer is in the list of cmd/cleave, and its tests call the
// suite of all deployers, as the page "Add a deployer" requires.
func TestEveryDeployerIsListedAndTested(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(root(t), "cmd/cleave/app.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := deployers(t)
	for _, folder := range all {
		if !strings.Contains(string(list), `"`+module+"/"+folder+`"`) {
			t.Errorf("%s implements lab.Deployer and is not in the list of cmd/cleave/app.go", folder)
		}
		tests, err := filepath.Glob(filepath.Join(root(t), folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		tested, suite := false, "deploytest.Suite"
		if folder == "deploy/compose" { // its units speak no control protocol
			suite = "deploytest.ForeignSuite"
		}
		for _, path := range tests {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tested = tested || strings.Contains(string(text), suite+"(")
		}
		if !tested {
			t.Errorf("%s does not call %s in a test", folder, suite)
		}
	}
	if len(all) < 3 {
		t.Errorf("deployers %q, want those of processes, containers and compose files among them", all)
	}
}

// deployers returns the folders that declare to implement lab.Deployer (var _ lab.Deployer = ...).
func deployers(t *testing.T) []string {
	t.Helper()
	var folders []string
	eachSource(t, func(path string, text []byte) {
		if within(path, "deploy") && regexp.MustCompile(`_ +lab\.Deployer += `).Match(text) {
			folders = append(folders, filepath.Dir(path))
		}
	})
	return folders
}
