package containers

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestAProgramWithAllThatItNeeds checks that a program runs from its image alone.
func TestAProgramWithAllThatItNeeds(t *testing.T) {
	for _, program := range []string{"dpkg-query", "ldd", "sed"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	config, layer, err := imageOf([]string{"/usr/bin/sed"})
	if err != nil || !strings.Contains(string(config), sum(layer)) {
		t.Fatalf("configuration %s, %v", config, err)
	}
	root := t.TempDir()
	for reader := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		testset.Must(t, err)
		path := filepath.Join(root, header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(header.Linkname, path))
		default:
			var text []byte
			text, err = io.ReadAll(reader)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, text, os.FileMode(header.Mode)))
		}
		deploytest.NoError(t, err)
	}
	for _, path := range []string{"etc/passwd", "usr/share/zoneinfo/Europe/Berlin"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "usr/share/doc")); err == nil {
		t.Error("documentation is in the image")
	}
	if os.Geteuid() == 0 { // only root can change its root
		if out, err := exec.Command("chroot", root, "/usr/bin/sed", "--version").CombinedOutput(); err != nil ||
			!strings.Contains(string(out), "sed") {
			t.Errorf("sed in its image: %v: %s", err, out)
		}
	}
}

func TestAProgramOfNoPackage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "unit")
	testset.Must(t, os.WriteFile(program, nil, 0o755))
	if _, _, err := imageOf([]string{program}); err == nil ||
		!strings.Contains(err.Error(), "of no Debian package") {
		t.Error(err)
	}
}
