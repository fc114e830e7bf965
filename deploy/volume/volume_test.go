package volume

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestFilledAndDrained checks that a filled volume refuses more, that a drained one accepts more and keeps
// its content, and that Fill follows no link that a unit has made.
func TestFilledAndDrained(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a volume: run the tests as root")
	}
	dir := t.TempDir()
	units := []lab.UnitSpec{{Name: "front"}, {
		Name:      "stock",
		Lifecycle: lab.Lifecycle{Faults: []lab.FaultKind{lab.FaultFill}},
	}}
	folderOf := func(u lab.UnitSpec) string { return filepath.Join(dir, u.Name) }
	testset.Must(t, Prepare(units, folderOf, nil))
	t.Cleanup(func() { _ = UnmountBelow(dir) })
	stock := folderOf(units[1])
	kept := filepath.Join(folderOf(units[1]), "kept")
	writeMore := func() error { return os.WriteFile(filepath.Join(stock, "more"), make([]byte, 1<<20), 0o600) }
	testset.Must(t, os.WriteFile(kept, []byte("flour"), 0o600))
	outside := filepath.Join(t.TempDir(), "outside")
	testset.Must(t, os.WriteFile(outside, []byte("of the host"), 0o600))
	// Fill must use no name that a unit can guess.
	testset.Must(t, os.Symlink(outside, filepath.Join(stock, "cleave-probe")))
	proof, err := Fill(stock)
	if text, err := os.ReadFile(outside); err != nil || string(text) != "of the host" {
		t.Errorf("a file outside of the volume has become %d bytes long (%v)", len(text), err)
	}
	if err != nil || !strings.Contains(proof, "no space left") {
		t.Fatalf("Fill: %q, %v", proof, err)
	}
	if err := writeMore(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a full volume takes more: %v", err)
	}
	testset.Must(t, Drain(stock))
	if err := writeMore(); err != nil {
		t.Errorf("a drained volume takes nothing: %v", err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "flour" {
		t.Errorf("what was in it is %q (%v)", text, err)
	}
	if err := os.RemoveAll(dir); err == nil {
		t.Error("a volume was removed while it was mounted: UnmountBelow is not needed")
	}
	deploytest.NoError(t, errors.Join(UnmountBelow(dir), os.RemoveAll(dir)))
}

// TestAFailedFillIsUndone checks that a volume that could not be proved to be full has room again.
func TestAFailedFillIsUndone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a volume: run the tests as root")
	}
	folder := filepath.Join(t.TempDir(), "stock")
	testset.Must(t, mount(folder))
	t.Cleanup(func() { deploytest.NoError(t, UnmountBelow(folder)) })
	if text, err := exec.Command("chattr", "+i", folder).CombinedOutput(); err != nil {
		t.Skipf("this kernel cannot keep files out of a tmpfs: %v: %s", err, text)
	}
	_, err := Fill(folder)
	deploytest.Says(t, err, "operation not permitted")
	testset.Must(t, exec.Command("chattr", "-i", folder).Run())
	deploytest.NoError(t, os.WriteFile(filepath.Join(folder, "more"), make([]byte, 1<<20), 0o600))
}

func TestAFolderThatIsNoVolume(t *testing.T) {
	if _, err := Fill(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no volume of its own") {
		t.Errorf("Fill: %v", err)
	}
}

func TestPointsBelow(t *testing.T) {
	const table = `22 1 0:21 / / rw - ext4 /dev/root rw
36 22 0:30 / /tmp/a rw,nosuid - tmpfs tmpfs rw
37 36 0:31 / /tmp/a/with\040blank rw shared:7 - tmpfs tmpfs rw
38 22 0:32 / /tmp/ab rw - tmpfs tmpfs rw
`
	points, err := pointsBelow(strings.NewReader(table), "/tmp/a")
	if want := []string{"/tmp/a", "/tmp/a/with blank"}; err != nil || !slices.Equal(points, want) {
		t.Errorf("%q, %v; want %q", points, err, want)
	}
	if _, err := pointsBelow(strings.NewReader("36 22 0:30\n"), "/tmp"); err == nil {
		t.Error("half a line was read")
	}
}
