package gluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/internal/testset"
)

// started returns a volume that carries a folder of this host. Both end with the test.
func started(t *testing.T, lost func(error)) (v *Volume, folder string) {
	t.Helper()
	testset.Need(t, "it starts GlusterFS")
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	folder = filepath.Join(dir, "stock")
	testset.Must(t, os.Mkdir(folder, 0o700))
	v, err := Start(t.Context(), filepath.Join(dir, "disk"), "test-of-gluster", lost)
	testset.Must(t, err)
	t.Cleanup(func() {
		deploytest.NoError(t, v.Close())
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("after the end %s has %v (%v)", folder, entries, err)
		}
		if _, err := os.Stat(v.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the end there is %s: %v", v.dir, err)
		}
	})
	testset.Must(t, v.MountOver(folder))
	return v, folder
}

// copiesOf returns the content of a file in each brick.
func copiesOf(t *testing.T, v *Volume, file string) (all []string) {
	t.Helper()
	for _, brick := range Bricks() {
		found, err := filepath.Glob(filepath.Join(v.dir, brick, "files", "*", file))
		if err != nil || len(found) != 1 {
			all = append(all, fmt.Sprint("none: ", err))
			continue
		}
		text, err := os.ReadFile(found[0])
		testset.Must(t, err)
		all = append(all, string(text))
	}
	return all
}

// appendSync appends a text to a file and calls fsync.
func appendSync(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	testset.Must(t, err)
}

// TestABrickIsLostAndHealed checks that writes are on every brick, succeed without one of them, and are on
// that one after it is healed.
func TestABrickIsLostAndHealed(t *testing.T) {
	v, folder := started(t, func(err error) { t.Error(err) })
	path := filepath.Join(folder, "flour")
	holds := func(when string, want ...string) {
		t.Helper()
		if got := copiesOf(t, v, "flour"); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%s the bricks hold %q, want %q", when, got, want)
		}
	}
	appendSync(t, path, "1")
	holds("at first", "1", "1", "1")
	proof, err := v.Kill(t.Context(), "brick-2")
	if err != nil || proof == "" {
		t.Fatalf("Kill: %q, %v", proof, err)
	}
	appendSync(t, path, "2")
	big := bytes.Repeat([]byte("x"), 4<<20)
	appendSync(t, filepath.Join(folder, "later"), string(big))
	holds("without one", "12", "1", "12")
	if _, err := v.Kill(t.Context(), "brick-2"); err == nil {
		t.Error("a brick was killed that does not run")
	}
	testset.Must(t, v.Heal(t.Context(), "brick-2"))
	holds("healed", "12", "12", "12")
	if got := copiesOf(t, v, "later"); got[1] != string(big) {
		t.Errorf("healed, the brick has %d bytes of a file that it had not seen, want %d", len(got[1]), len(big))
	}
	appendSync(t, path, "3")
	holds("afterwards", "123", "123", "123")
	if units := v.Units(); len(units) != 1+copies || units[0].Name != Client || units[3].Name != "brick-3" {
		t.Errorf("units %+v", units)
	}
}

// TestAMountThatIsLost checks that lost is called when the mount ends, and that its remains can be unmounted.
func TestAMountThatIsLost(t *testing.T) {
	lost := make(chan error, 1)
	v, folder := started(t, func(err error) { lost <- err })
	testset.Must(t, v.client.Process.Kill())
	select {
	case err := <-lost:
		deploytest.Says(t, err, "the replicated disk is gone")
	case <-time.After(10 * time.Second):
		t.Fatal("lost was not called")
	}
	if _, err := os.ReadDir(folder); err == nil {
		t.Error("the folder can be read without the mount")
	}
	deploytest.NoError(t, volume.UnmountBelow(v.dir)) // the sweeper of a killed conductor does the same
}

// TestARefusalIsAnError checks that a refusal of the servers is an error although the command succeeded.
func TestARefusalIsAnError(t *testing.T) {
	const refused = "<cliOutput><opRet>-1</opRet><opErrstr>volume start: failed</opErrstr></cliOutput>"
	err := new(answer).read([]byte(refused), nil)
	deploytest.Says(t, err, "volume start: failed", "(result -1)")
	testset.Must(t, new(answer).read([]byte("<cliOutput><opRet>0</opRet></cliOutput>"), nil))
}

// TestWhatAHostLacks checks Missing and About on a host without GlusterFS.
func TestWhatAHostLacks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	deploytest.Says(t, Missing(), "apt-get install --no-install-recommends glusterfs-")
	if about := About(); about != "GlusterFS of unknown version, 3 copies" {
		t.Errorf("About: %q", about)
	}
}
