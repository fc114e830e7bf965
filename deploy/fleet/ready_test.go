package fleet

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestExpect checks that a text is found even if it is written in pieces, and only if all of it is written
// after Expect.
func TestExpect(t *testing.T) {
	for _, c := range []struct {
		before string
		pieces []string
		found  bool
	}{
		{pieces: []string{"the server is ready\n"}, found: true},
		{pieces: []string{"server is re", "a", "d", "y"}, found: true},
		{before: "is ready\n", pieces: []string{"begins again\n"}},
		{before: "is rea", pieces: []string{"dy\n"}},
		{pieces: []string{"is re", "ally ready\n"}},
		{pieces: []string{"is ready\n", "is ready\n"}, found: true},
	} {
		var log Tail
		_, _ = log.Write([]byte(c.before))
		found := log.Expect("is ready")
		for _, piece := range c.pieces {
			_, _ = log.Write([]byte(piece))
		}
		select {
		case <-found:
			if !c.found {
				t.Errorf("%q, then %q: found", c.before, c.pieces)
			}
		default:
			if c.found {
				t.Errorf("%q, then %q: not found", c.before, c.pieces)
			}
		}
	}
}

// TestReadiness checks that a unit is ready when it has written its text and its command has
// succeeded, and that the error of one that is not says which of them is missing. Long because it is a table.
func TestReadiness(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	ended := make(chan struct{})
	close(ended)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = listener.Close() }()
	address := listener.Addr().String()
	for name, c := range map[string]struct {
		readiness lab.Readiness
		writes    string
		address   string
		ended     chan struct{}
		want      string // in the error; "": none
	}{
		"log": {readiness: lab.Readiness{Log: "is up"}, writes: "it is up\n"},
		"no log": {readiness: lab.Readiness{Log: "is up"}, writes: "no memory\n",
			want: "not ready after 300ms: it has not written \"is up\"; its last words:\n  no memory"},
		"ended": {readiness: lab.Readiness{Log: "is up"}, writes: "no memory\n", ended: ended,
			want: "ended before it was ready; its last words:\n  no memory"},
		"command": {readiness: lab.Readiness{Command: []string{"sh", "-c",
			`test -e "$0" || { touch "$0"; exit 1; }`, marker}}},
		"address": {readiness: lab.Readiness{Command: []string{"test", "{host}:{port}", "=", address}},
			address: address},
		"environment": {readiness: lab.Readiness{Command: []string{"sh", "-c",
			`test "$MINE" = yes && test -n "$PATH"`}}},
		"failing": {readiness: lab.Readiness{Command: []string{"sh", "-c",
			"echo trying; echo no answer >&2; exit 2"}, Within: time.Second},
			want: "not ready after 1s (last answer: sh: exit status 2: no answer)"},
		"failing, then silent": {readiness: lab.Readiness{Command: []string{"sh", "-c",
			`test ! -e "$0" || sleep 60; touch "$0"; echo no answer >&2; exit 2`, marker + "-2"}, Within: time.Second},
			want: "not ready after 1s (last answer: sh: exit status 2: no answer)"},
		"no such": {readiness: lab.Readiness{Command: []string{"no-such-program"}},
			want: `"no-such-program": executable file not found`},
		"log, then more": {readiness: lab.Readiness{Log: "is up", Command: []string{"false"}, Within: time.Second},
			writes: "it is up\n",
			want:   "(last answer: false: exit status 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			c.readiness.Within = cmp.Or(c.readiness.Within, 300*time.Millisecond)
			if c.want == "" {
				c.readiness.Within = time.Minute
			}
			u := NewUnit(lab.UnitSpec{
				Name:      "web",
				Runnable:  lab.Runnable{Program: "./web", Foreign: true, Env: []string{"MINE=yes"}},
				Lifecycle: lab.Lifecycle{Readiness: c.readiness},
			})
			if c.ended != nil {
				u.Ended = c.ended
			}
			_, _ = io.WriteString(u.Log, c.writes)
			_, err := u.awaitUsable(t.Context(), c.address)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := os.Stat(marker); errors.Is(err, os.ErrNotExist) {
		t.Error("the command did not run")
	}
}

// TestBackoff checks that an event within a minute is seen at most a twentieth of its time late, with a few
// hundred looks.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		looks := 0
		for time.Since(begun) < time.Minute {
			pause := Backoff(begun, 5*time.Millisecond, 200*time.Millisecond)
			if since := time.Since(begun); pause > max(since/20, 5*time.Millisecond) {
				t.Errorf("after %v it waits %v", since, pause)
			}
			time.Sleep(pause)
			looks++
		}
		if looks < 300 || looks > 500 {
			t.Errorf("%d looks", looks)
		}
	})
}

// TestALogThatIsRead checks that a log that is not streamed is read only a few times a second.
func TestALogThatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUnit(lab.UnitSpec{
			Name:      "front",
			Lifecycle: lab.Lifecycle{Readiness: lab.Readiness{Log: "ready", Within: time.Minute}},
		})
		reads := 0
		begun := time.Now()
		u.ReadLog = func(context.Context) {
			if reads++; time.Since(begun) > 10*time.Second {
				_, _ = u.Log.Write([]byte("ready\n")) // it never fails
			}
		}
		if err := u.awaitText(t.Context()); err != nil || reads > 100 || time.Since(begun) > 11*time.Second {
			t.Errorf("it was read %d times in %v: %v", reads, time.Since(begun), err)
		}
	})
}
