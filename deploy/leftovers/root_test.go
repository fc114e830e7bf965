package leftovers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestAFolderForTemporaryFilesThatIsNotThereIsNamed(t *testing.T) {
	root := filepath.Join(t.TempDir(), "tmp", "cleave-x")
	if err := CheckRoot(root); err == nil || !strings.Contains(err.Error(), filepath.Dir(root)) ||
		!strings.Contains(err.Error(), "not there: make it") {
		t.Errorf("%v, want the folder named, and what to do", err)
	}
	// Processes of other tests, in namespaces of their own, may be unclear.
	if found, err := Find(root); err != nil || strings.Contains(strings.Join(found.Unclear, "\n"),
		filepath.Dir(root)) {
		t.Errorf("Find of a root in a folder that does not exist: %v, %v", found, err)
	}
}

// TestARootThatOthersCouldHaveFilledIsRefused checks that a root is refused if another
// user could have made it or written to it. Long because it is a table.
func TestARootThatOthersCouldHaveFilledIsRefused(t *testing.T) {
	const other = 4711 // some other user
	giveAway := func(t *testing.T, path string) {
		t.Helper()
		if os.Geteuid() != 0 {
			t.Skip("giving a folder to another user needs root: run the tests as root")
		}
		testset.Must(t, os.Lchown(path, other, other))
	}
	for name, c := range map[string]struct {
		plant func(t *testing.T, root string)
		want  string // in the error; "" for none
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"our own": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
		}, ""},
		"our own, readable by all": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o755))
		}, ""},
		"another user's": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
			giveAway(t, root)
		}, "belongs to user 4711"},
		"another user's, open to all": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
			testset.Must(t, os.Chmod(root, 0o777))
			giveAway(t, root)
		}, "belongs to user 4711"},
		"our own, open to all": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
			testset.Must(t, os.Chmod(root, 0o777))
		}, "may be written by other users (mode 777)"},
		"a link to a folder of ours": {func(t *testing.T, root string) {
			testset.Must(t, os.Symlink(t.TempDir(), root))
		}, "is no folder but L"},
		"another user's link to a folder of ours": {func(t *testing.T, root string) {
			testset.Must(t, os.Symlink(t.TempDir(), root))
			giveAway(t, root)
		}, "which user 4711 has made, is no folder but L"},
		"a file": {func(t *testing.T, root string) { testset.Must(t, os.WriteFile(root, nil, 0o600)) },
			"is no folder but -"},
		"in a folder of another user": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
			giveAway(t, filepath.Dir(root))
		}, "belongs to user 4711"},
		"in a folder where all may rename": {func(t *testing.T, root string) {
			testset.Must(t, os.Mkdir(root, 0o700))
			testset.Must(t, os.Chmod(filepath.Dir(root), 0o777))
		}, "in which every user may rename"},
		"in a folder as /tmp is": {func(t *testing.T, root string) {
			testset.Must(t, os.Chmod(filepath.Dir(root), 0o777|os.ModeSticky))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "tmp", "cleave-x")
			testset.Must(t, os.Mkdir(filepath.Dir(root), 0o700))
			c.plant(t, root)
			_, claimed := Claim(root, deadLabel(t, ""), []string{os.Args[0], "sweeper"})
			_, found := Find(root)
			for what, err := range map[string]error{"CheckRoot": CheckRoot(root), "Claim": claimed, "Find": found} {
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), "TMPDIR")):
					t.Errorf("%s: %v, want %q and how to choose another folder", what, err, c.want)
				}
			}
			if info, err := os.Stat(root); c.want == "" && (err != nil || info.Mode().Perm() != 0o700) {
				t.Errorf("the root is %v, %v, want it closed to others", info, err)
			}
		})
	}
}
