package rehearsalunit

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// playing returns a unit that plays these calls, numbered in this order.
func playing(calls ...*rehearsal.Call) *Unit {
	u := &Unit{probing: true, probesEach: 1, burner: &burner{}, sleeper: &sleeper{}}
	for i, c := range calls {
		c.Number = i
		u.calls = append(u.calls, u.prepare(c))
	}
	return u
}

// taking returns a call with a CPU time.
func taking(cpu time.Duration, count float64, calls ...*rehearsal.Call) *rehearsal.Call {
	return &rehearsal.Call{Call: &model.Call{Count: count, CPU: model.Distribution{Mean: cpu}}, Calls: calls}
}

// TestSubtract takes the program's own CPU time off the calls of an entry that its unit plays, and off no
// others.
func TestSubtract(t *testing.T) {
	inside, outside := taking(5*time.Millisecond, 2), taking(time.Second, 1)
	outside.Unit = 1
	entry, other := taking(10*time.Millisecond, 1, inside, outside), taking(time.Second, 1)
	for own, want := range map[time.Duration]float64{4 * time.Millisecond: 0.8, time.Second: 0} {
		u := playing(entry, inside, outside, other)
		u.subtract(u.calls[0], own)
		for i, share := range []float64{want, want, 1, 1} {
			if got := u.calls[i].share; math.Abs(got-share) > 1e-9 {
				t.Errorf("%v of 20ms: call %d burns %g of its CPU time, want %g", own, i, got, share)
			}
		}
	}
}

// TestReadAnswer: an answer may arrive in parts. A refusal is an error, in JSON or in plain text, although
// the connection stays open after it.
func TestReadAnswer(t *testing.T) {
	for answer, refused := range map[string]bool{
		"HTTP/1.1 503 Service Unavailable|\r\nContent-Type: text/plain\r\n\r\ntoo busy": true,
		"HTTP/1.1 500 Internal Server Error\r\n\r\n{}":                                  true,
		"HTTP/1.1 2|00 OK\r\n\r\n{\"of\":1|}":                                           false,
	} {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		testset.Must(t, err)
		for part := range strings.SplitSeq(answer, "|") {
			if _, err := unix.Write(ends[1], []byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := readAnswer(ends[0], make([]byte, 1<<10)); (err != nil) != refused {
			t.Errorf("%q: %v", answer, err)
		}
		for _, end := range ends {
			_ = unix.Close(end) // no data can be lost
		}
	}
}

// TestAUnitWithManyEntriesProbesSome: only the first ones, or the units of a large model would not be ready
// in time. Here playing one of the others would wait for a worker in vain.
func TestAUnitWithManyEntriesProbesSome(t *testing.T) {
	var calls []*rehearsal.Call
	for range probedEntries + 1 {
		calls = append(calls, taking(time.Second, 1))
	}
	u := playing(calls...)
	u.calls[probedEntries].visits = []visit{{store: &embeddedStore{workers: make(chan struct{})},
		wait: model.Distribution{}.Points()}}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := u.probeEntries(ended, u.calls); err != nil {
		t.Errorf("all %d entries are probed: %v", len(calls), err)
	}
	if err := u.probeEntries(ended, u.calls[probedEntries:]); err == nil {
		t.Error("an entry that is probed waits for no worker")
	}
}
