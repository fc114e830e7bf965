package udspersistent

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
)

// TestACoreThatCannotListenLeavesNothingOpen: the event loop has a descriptor of its own.
func TestACoreThatCannotListenLeavesNothingOpen(t *testing.T) {
	t.Setenv("CLEAVE_DIR", filepath.Join(t.TempDir(), "missing"))
	open := func() int {
		descriptors, err := os.ReadDir("/proc/self/fd")
		testset.Must(t, err)
		return len(descriptors)
	}
	before := open()
	for range 10 {
		if _, err := NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}}); err == nil {
			t.Fatal("a core listens in a folder that does not exist")
		}
	}
	if after := open(); after >= before+10 {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func TestCoreRefuses(t *testing.T) {
	for _, test := range []struct{ name, message, want string }{
		{"no json", "register\n", "invalid character"},
		{"no address", `{"op":"register"}` + "\n", "want an address"},
		{"ready before all are there", `{"op":"register","content":"/a"}` + "\n" + `{"op":"ready"}` + "\n",
			"out of turn"},
		{"finish before the kick-off", `{"op":"register","content":"/a"}` + "\n" + `{"op":"finish"}` + "\n",
			"out of turn"},
		{"register twice", `{"op":"register","content":"/a"}` + "\n" + `{"op":"register","content":"/b"}` + "\n",
			"out of turn"},
		{"a worker that leaves", `{"op":"register","content":"/a"}` + "\n", "connection to /a: use of closed"},
		{"somebody who says nothing", "", "connection to a worker that has not registered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("CLEAVE_DIR", dir)
			workers, err := NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}})
			testset.Must(t, err)
			conn, err := net.Dial("unix", filepath.Join(dir, "core.sock"))
			testset.Must(t, err)
			if _, err := io.WriteString(conn, test.message); err != nil {
				t.Fatal(err)
			}
			testset.Must(t, conn.Close())
			if err := workers.Gather(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if err := workers.(*core).loop.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
