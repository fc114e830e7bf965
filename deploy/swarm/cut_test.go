package swarm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestACutIsCompleteOrNone checks that a cut, and its end, of which one of two rules fails leave the rules as
// they were: a unit would be cut off in part, and the same command could never succeed later.
func TestACutIsCompleteOrNone(t *testing.T) {
	folder := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(folder, "nsenter"), []byte(`#!/bin/sh
shift 4 # the process, its network, iptables --wait
echo "$1 $2" >>"$0.log"
[ "$2" != OUTPUT ]
`), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	s := &service{Unit: fleet.NewUnit(lab.UnitSpec{Name: "front"})}
	s.SetHostPID(os.Getpid())
	for off, want := range map[bool]string{
		true:  "--insert INPUT\n--insert OUTPUT\n--delete INPUT\n",
		false: "--delete INPUT\n--delete OUTPUT\n--insert INPUT\n",
	} {
		log := filepath.Join(folder, "nsenter.log")
		testset.Must(t, os.WriteFile(log, nil, 0o600))
		deploytest.Says(t, (&privateTrial{}).cut(t.Context(), s, off), "filter the network of unit front")
		if did, err := os.ReadFile(log); string(did) != want || err != nil {
			t.Errorf("cut off %t: it did %q, want %q (%v)", off, did, want, err)
		}
	}
}
