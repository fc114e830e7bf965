package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// hostFolder makes a folder of the host that no unit may reach, with a file, and returns the paths of both.
func hostFolder(t *testing.T) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "secret")
	testset.Must(t, os.WriteFile(file, []byte("of the host"), 0o600))
	return folder, file
}

// expectUntouched fails the test if the host's file is gone or changed.
func expectUntouched(t *testing.T, file string) {
	t.Helper()
	if text, err := os.ReadFile(file); err != nil || string(text) != "of the host" {
		t.Errorf("the host's file says %q (%v)", text, err)
	}
}

// TestAUnitsLinksLeadNowhereWhenItsFilesAreWritten checks that MakeVolume, which a restart calls again,
// fails if the unit has meanwhile put a link out of its folder in the place of a file.
func TestAUnitsLinksLeadNowhereWhenItsFilesAreWritten(t *testing.T) {
	folder, file := hostFolder(t)
	for name, link := range map[string]struct{ at, to string }{
		"a file": {"settings", file}, "a folder": {"etc", folder},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			spec := lab.UnitSpec{
				Name: "web",
				Runnable: lab.Runnable{
					Files: map[string][]byte{
						"settings": []byte("ours"), "etc/secret": []byte("ours"), "empty/": nil},
				},
			}
			testset.Must(t, MakeVolume(dir, spec, nil))
			at := filepath.Join(dir, "web", link.at)
			testset.Must(t, os.RemoveAll(at))
			testset.Must(t, os.Symlink(link.to, at))
			if err := MakeVolume(dir, spec, nil); err == nil {
				t.Error("no error")
			}
			expectUntouched(t, file)
		})
	}
}

// TestFilesOfAVolumeOfItsOwnAreTaken checks that files are taken from a volume that is another file system,
// as one that can be filled is.
func TestFilesOfAVolumeOfItsOwnAreTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a volume: run the tests as root")
	}
	dir := t.TempDir()
	spec := lab.UnitSpec{Name: "web", Storage: lab.Storage{Leaves: "profile"},
		Lifecycle: lab.Lifecycle{Faults: []lab.FaultKind{lab.FaultFill}}}
	path := Volume(dir, spec)
	testset.Must(t, volume.Prepare([]lab.UnitSpec{spec}, func(lab.UnitSpec) string { return path }, nil))
	t.Cleanup(func() { deploytest.NoError(t, volume.UnmountBelow(dir)) })
	testset.Must(t, WriteToVolume(path, "profile/samples", []byte("taken")))
	s := NewSupervisor(lab.Layout{}, filepath.Join(dir, handedOverFolder))
	testset.Must(t, s.takeLeft(spec, path))
	if text, err := os.ReadFile(filepath.Join(s.HandedOver(), "web.samples")); err != nil ||
		string(text) != "taken" {
		t.Errorf("the unit has left %q (%v)", text, err)
	}
}

// TestAUnitsLinksLeadNowhereWhenItsFilesAreTaken checks that neither a link in place of the folder, nor one
// among its files, brings files of the host into the results.
func TestAUnitsLinksLeadNowhereWhenItsFilesAreTaken(t *testing.T) {
	folder, file := hostFolder(t)
	path := t.TempDir()
	handed := filepath.Join(t.TempDir(), handedOverFolder)
	s := NewSupervisor(lab.Layout{}, handed)
	spec := lab.UnitSpec{Name: "web", Storage: lab.Storage{Leaves: "profile"}}
	if err := s.takeLeft(spec, path); err != nil {
		t.Fatalf("a unit that left nothing: %v", err)
	}
	testset.Must(t, os.Symlink(folder, filepath.Join(path, "profile")))
	if err := s.takeLeft(spec, path); err == nil {
		t.Error("no error for a folder of the host")
	}
	expectUntouched(t, file)
	testset.Must(t, unix.Mkfifo(filepath.Join(path, "pipe"), 0o600))
	spec.Leaves = "pipe"
	if err := s.takeLeft(spec, path); err == nil {
		t.Error("no error for a pipe in place of the folder")
	}
	spec.Leaves = "left"
	left := filepath.Join(path, "left")
	testset.Must(t, os.Mkdir(left, 0o700))
	testset.Must(t, os.Symlink(file, filepath.Join(left, "link")))
	testset.Must(t, os.WriteFile(filepath.Join(left, "samples"), []byte("taken"), 0o600))
	testset.Must(t, s.takeLeft(spec, path))
	if text, err := os.ReadFile(filepath.Join(handed, "web.samples")); err != nil || string(text) != "taken" {
		t.Errorf("what the unit left says %q (%v)", text, err)
	}
	if _, err := os.Lstat(filepath.Join(handed, "web.link")); err == nil {
		t.Error("a link was handed over")
	}
}

// TestAUnitLeavesTooMuch checks that a file beyond the limit is no silent half.
func TestAUnitLeavesTooMuch(t *testing.T) {
	volume := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(volume, "left"), []byte("12345"), 0o600))
	root, err := os.OpenRoot(volume)
	testset.Must(t, err)
	defer func() { testset.Must(t, root.Close()) }()
	to := filepath.Join(t.TempDir(), "taken")
	testset.Must(t, copyLeft(root, "left", to, 5))
	if err := copyLeft(root, "left", to, 4); err == nil || !strings.Contains(err.Error(), "4 bytes") {
		t.Errorf("a file of five bytes where four are the limit: %v", err)
	}
}
