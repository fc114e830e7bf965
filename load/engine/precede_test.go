//go:build linux

package engine

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
)

// threadPriority returns the priority of the calling thread as the kernel reports it: 20 minus its nice
// value.
func threadPriority(t *testing.T) int {
	t.Helper()
	rank, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	testset.Must(t, err)
	return rank
}

// TestTheSendingThreadHasPriority: only the sending thread has the highest priority, and not if it spins.
func TestTheSendingThreadHasPriority(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Skip("the priority is for root: run the tests as root")
	}
	before := threadPriority(t)
	for _, c := range []struct {
		pacing string
		want   int
	}{{"exact", 20 - highest}, {"spin", before}} {
		r := newRig(t, serve(t, hello))
		r.pace(c.pacing)
		got := 0
		r.config.Connected = func() error { // on the sending thread
			got = threadPriority(t)
			return nil
		}
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
		if got != c.want {
			t.Errorf("pacing %s: priority %d, want %d", c.pacing, got, c.want)
		}
	}
	if now := threadPriority(t); now != before {
		t.Errorf("the caller's priority is %d, it was %d", now, before)
	}
}
