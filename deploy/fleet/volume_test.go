package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// hostFolder makes a folder of the host that no unit may reach, with a file.
func hostFolder(t *testing.T) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "secret")
	deploytest.Must(t, os.WriteFile(file, []byte("of the host"), 0o600))
	return folder, file
}

// expectUntouched fails where the host's file is gone or says something else.
func expectUntouched(t *testing.T, file string) {
	t.Helper()
	if text, err := os.ReadFile(file); err != nil || string(text) != "of the host" {
		t.Errorf("the host's file says %q (%v)", text, err)
	}
}

// TestAUnitsLinksLeadNowhereWhenItsFilesAreWritten: a restart writes the unit's files again, into a folder
// that the unit could change.
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
			deploytest.Must(t, MakeVolume(dir, spec, nil))
			at := filepath.Join(dir, "web", link.at)
			deploytest.Must(t, os.RemoveAll(at))
			deploytest.Must(t, os.Symlink(link.to, at))
			if err := MakeVolume(dir, spec, nil); err == nil {
				t.Error("no error")
			}
			expectUntouched(t, file)
		})
	}
}

// TestAUnitsLinksLeadNowhereWhenItsFilesAreTaken: neither a link in place of the folder, nor one among its
// files, brings files of the host into the results.
func TestAUnitsLinksLeadNowhereWhenItsFilesAreTaken(t *testing.T) {
	folder, file := hostFolder(t)
	volume, handed := t.TempDir(), filepath.Join(t.TempDir(), handedOverFolder)
	s := NewSupervisor(lab.Layout{}, handed)
	spec := lab.UnitSpec{Name: "web", Storage: lab.Storage{Leaves: "profile"}}
	if err := s.takeLeft(spec, volume); err != nil {
		t.Fatalf("a unit that left nothing: %v", err)
	}
	deploytest.Must(t, os.Symlink(folder, filepath.Join(volume, "profile")))
	if err := s.takeLeft(spec, volume); err == nil {
		t.Error("no error for a folder of the host")
	}
	expectUntouched(t, file)
	spec.Leaves = "left"
	left := filepath.Join(volume, "left")
	deploytest.Must(t, os.Mkdir(left, 0o700))
	deploytest.Must(t, os.Symlink(file, filepath.Join(left, "link")))
	deploytest.Must(t, os.WriteFile(filepath.Join(left, "samples"), []byte("taken"), 0o600))
	deploytest.Must(t, s.takeLeft(spec, volume))
	if text, err := os.ReadFile(filepath.Join(handed, "web.samples")); err != nil || string(text) != "taken" {
		t.Errorf("what the unit left says %q (%v)", text, err)
	}
	if _, err := os.Lstat(filepath.Join(handed, "web.link")); err == nil {
		t.Error("a link was handed over")
	}
}
