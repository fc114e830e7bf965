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

// started returns a volume on which a folder of this host lies.
func started(t *testing.T, lost func(error)) (v *Volume, folder string) {
	t.Helper()
	testset.Need(t, "it starts GlusterFS")
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	folder = filepath.Join(dir, "stock")
	deploytest.Must(t, os.Mkdir(folder, 0o700))
	v, err := Start(t.Context(), filepath.Join(dir, "disk"), "test-of-gluster", lost)
	deploytest.Must(t, err)
	t.Cleanup(func() {
		deploytest.NoError(t, v.Close())
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("after the end %s has %v (%v)", folder, entries, err)
		}
		if _, err := os.Stat(v.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the end there is %s: %v", v.dir, err)
		}
	})
	deploytest.Must(t, v.Carry(folder))
	return v, folder
}

// copiesOf returns what the bricks hold of a file.
func copiesOf(t *testing.T, v *Volume, file string) (all []string) {
	t.Helper()
	for _, brick := range Bricks() {
		found, err := filepath.Glob(filepath.Join(v.dir, brick, "files", "*", file))
		if err != nil || len(found) != 1 {
			all = append(all, fmt.Sprint("none: ", err))
			continue
		}
		text, err := os.ReadFile(found[0])
		deploytest.Must(t, err)
		all = append(all, string(text))
	}
	return all
}

func sync(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	deploytest.Must(t, err)
}

// TestABrickIsLostAndHealed: what is written is on every brick, goes on without one of them,
// and is on it when it is back.
func TestABrickIsLostAndHealed(t *testing.T) {
	v, folder := started(t, func(err error) { t.Error(err) })
	path := filepath.Join(folder, "flour")
	holds := func(when string, want ...string) {
		t.Helper()
		if got := copiesOf(t, v, "flour"); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%s the bricks hold %q, want %q", when, got, want)
		}
	}
	sync(t, path, "1")
	holds("at first", "1", "1", "1")
	proof, err := v.Kill(t.Context(), "brick-2")
	if err != nil || proof == "" {
		t.Fatalf("Kill: %q, %v", proof, err)
	}
	sync(t, path, "2")
	big := bytes.Repeat([]byte("x"), 4<<20)
	sync(t, filepath.Join(folder, "later"), string(big))
	holds("without one", "12", "1", "12")
	if _, err := v.Kill(t.Context(), "brick-2"); err == nil {
		t.Error("a brick was killed that does not run")
	}
	deploytest.Must(t, v.Heal(t.Context(), "brick-2"))
	holds("healed", "12", "12", "12")
	if got := copiesOf(t, v, "later"); got[1] != string(big) {
		t.Errorf("healed, the brick has %d bytes of a file that it had not seen, want %d", len(got[1]), len(big))
	}
	sync(t, path, "3")
	holds("afterwards", "123", "123", "123")
	if units := v.Units(); len(units) != 1+copies || units[0].Name != Client || units[3].Name != "brick-3" {
		t.Errorf("units %+v", units)
	}
}

// TestAMountThatIsLost is told, and can be closed.
func TestAMountThatIsLost(t *testing.T) {
	told := make(chan error, 1)
	v, folder := started(t, func(err error) { told <- err })
	deploytest.Must(t, v.client.Process.Kill())
	select {
	case err := <-told:
		if !strings.Contains(err.Error(), "the replicated disk is gone") {
			t.Errorf("told %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told")
	}
	if _, err := os.ReadDir(folder); err == nil {
		t.Error("a folder can be read of which nothing is left")
	}
	if err := volume.UnmountBelow(v.dir); err != nil { // as the sweeper of a conductor that was killed does
		t.Error(err)
	}
}

// TestARefusalIsTold, although the command ends well.
func TestARefusalIsTold(t *testing.T) {
	const refused = "<cliOutput><opRet>-1</opRet><opErrstr>volume start: failed</opErrstr></cliOutput>"
	err := new(answer).read([]byte(refused), nil)
	deploytest.Says(t, err, "volume start: failed", "(result -1)")
	deploytest.Must(t, new(answer).read([]byte("<cliOutput><opRet>0</opRet></cliOutput>"), nil))
}

func TestWhatAHostLacks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	deploytest.Says(t, Missing(), "apt-get install --no-install-recommends glusterfs-")
	if about := About(); about != "GlusterFS of unknown version, 3 copies" {
		t.Errorf("About: %q", about)
	}
}
