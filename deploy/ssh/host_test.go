package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

// connectedTo returns a host whose agent is played by serve.
func connectedTo(serve func(net.Conn)) *host {
	ours, theirs := net.Pipe()
	go serve(theirs)
	h := &host{name: "left", ended: make(chan struct{}), complaints: &fleet.Tail{}}
	h.end = sync.OnceFunc(func() {
		_ = ours.Close() // the agent's side sees it
		close(h.ended)
	})
	h.answers = bounded.New(ours, maxAnswer)
	h.client = rpc.NewClient(connection{h.answers, ours})
	return h
}

// hangs reads calls and answers none.
func hangs(from net.Conn) { _, _ = io.Copy(io.Discard, from) } // until it is closed

// trialOn returns a trial on a host, and its unit, which is heard.
func trialOn(t *testing.T, h *host) (*deployment, *unit) {
	t.Helper()
	layout := deploytest.Front()
	d := &deployment{hosts: []*host{h}, deployer: newDeployer("", "", []string{h.name}), dir: t.TempDir()}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(layout, t.TempDir()), d.dir, d.platform())
	d.deployer.hosts, d.deployer.launcher = d.hosts, &launch.Launcher{} // it starts nothing
	u := d.newUnit(layout.Units[1])
	d.Add(u)
	go u.listen()
	return d, u
}

// TestAHungAgentIsGivenUp: neither the end of a trial nor the check before it waits for it without end, and
// signs that nobody answers fail the trial.
func TestAHungAgentIsGivenUp(t *testing.T) {
	for name, try := range map[string]func(*deployment, *host) error{
		"Stop": func(d *deployment, _ *host) error { return d.Stop() },
		"Preflight": func(d *deployment, _ *host) error {
			return d.deployer.Preflight(context.Background(), deploytest.Front())
		},
		"signs": func(d *deployment, h *host) error {
			go h.giveSigns(h.client, h.ended)
			<-d.Failed()
			return d.Failure()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := connectedTo(hangs)
				d, u := trialOn(t, h)
				begun := time.Now()
				err := try(d, h)
				if err == nil || time.Since(begun) > 2*callPatience {
					t.Errorf("after %v: %v", time.Since(begun), err)
				}
				<-u.Ended
				const lost = "the connection to host left is lost"
				deploytest.Says(t, d.Failure(), lost)
			})
		})
	}
}

// TestAPreflightEndsWithItsContext, and the agent is kept.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connectedTo(hangs)
		d, _ := trialOn(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := d.deployer.Preflight(ctx, deploytest.Front()); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begun) > time.Second || !h.lives() {
			t.Errorf("after %v: %v, the agent is there: %t", time.Since(begun), err, h.lives())
		}
		h.end()
	})
}

// late answers a call when it may.
type late struct{ may chan struct{} }

// Hear is that of an agent.
func (l late) Hear(_ int, next *agent.Heard) error {
	<-l.may
	next.How = "late"
	return nil
}

// Stop is that of an agent.
func (l late) Stop(agent.None, *agent.None) error { return nil }

// serve plays an agent.
func (l late) serve(from net.Conn) {
	server := rpc.NewServer()
	if err := server.RegisterName(agent.Service, l); err != nil {
		panic(err) // its methods are those above
	}
	server.ServeConn(from)
}

// TestAUnitOfWhichNothingIsHeard keeps nobody waiting at the end of a trial, which names its host.
func TestAUnitOfWhichNothingIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := make(chan struct{})
		h := connectedTo(late{may}.serve)
		d, u := trialOn(t, h)
		deploytest.Says(t, d.Stop(), "host left does not say within 1m0s that unit front has ended")
		h.end()
		close(may)
		<-u.Ended
	})
}

// TestALateAnswerIsThrownAway: who has given up waiting keeps what it has (see it with the race detector).
func TestALateAnswerIsThrownAway(t *testing.T) {
	may := make(chan struct{})
	h := connectedTo(late{may}.serve)
	why := errors.New("nobody wants it any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	heard, err := call[agent.Heard](ctx, h, "Hear", 0)
	close(may)
	heard.How += "mine"
	if !errors.Is(err, why) || heard.How != "mine" {
		t.Errorf("it hears %q, %v", heard.How, err)
	}
	if next, err := call[agent.Heard](t.Context(), h, "Hear", 0); err != nil || next.How != "late" {
		t.Errorf("the next call hears %q, %v", next.How, err)
	}
	h.end()
}

// TestAnAnswerWithoutEnd breaks the connection.
func TestAnAnswerWithoutEnd(t *testing.T) {
	h := connectedTo(func(from net.Conn) {
		go hangs(from)
		_, _ = from.Write([]byte{0xfc, 0x40, 0, 0, 0}) // what follows has 1 GiB (encoding/gob)
		for piece := make([]byte, 1<<16); ; {
			if _, err := from.Write(piece); err != nil {
				return
			}
		}
	})
	defer h.end()
	deploytest.Says(t, h.tell(t.Context(), "Stop", agent.None{}), "more than 67108864 bytes")
}

// strange has ssh be a program of a host that sends without end.
func strange(t *testing.T, sends string) {
	t.Helper()
	folder := t.TempDir()
	script := "#!/bin/sh\n" + sends + "\n"
	deploytest.Must(t, os.WriteFile(filepath.Join(folder, "ssh"), []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestAHostThatSendsWithoutEnd is asked for its consent, and for the line before its agent, in vain: little
// of what it sends is read.
func TestAHostThatSendsWithoutEnd(t *testing.T) {
	strange(t, "exec head -c 1000000000 /dev/zero")
	proof, err := Proof(t.Context(), "left")
	if len(proof) > maxProof || err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("%d bytes of proof, %v", len(proof), err)
	}
	for name, endless := range map[string]io.Reader{
		"a line": zeros{}, "lines": lines{},
	} {
		err := awaitLine(bufio.NewReader(endless), agent.Mark, func(string) error { return nil })
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxNoise)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros and lines have no end.
type (
	zeros struct{}
	lines struct{}
)

// Read implements io.Reader.
func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// Read implements io.Reader.
func (lines) Read(into []byte) (int, error) { return copy(into, "welcome\n"), nil }

// TestServersThatAreOpenAtFirst are not started at public addresses.
func TestServersThatAreOpenAtFirst(t *testing.T) {
	server := lab.UnitSpec{
		Name:     "documents",
		Runnable: lab.Runnable{Server: &lab.Server{Kind: "mongo", OpensFirst: true}},
	}
	other := lab.UnitSpec{Name: "database", Runnable: lab.Runnable{Server: &lab.Server{Kind: "postgres"}}}
	for address, public := range map[string]bool{
		"203.0.113.7": true, "2001:db8::7": true, "10.1.2.3": false, "192.168.0.2": false, "172.16.0.1": false,
		"127.0.0.1": false, "198.19.0.2": false, "100.64.3.4": false, "fd00::7": false, "::ffff:10.0.0.1": false,
	} {
		d := &deployment{hosts: []*host{{name: "left", address: address}}}
		err := d.checkOpen([]lab.UnitSpec{server, other})
		if public != (err != nil) || public && !strings.Contains(err.Error(), "documents (mongo) lets everybody") {
			t.Errorf("at %s: %v", address, err)
		}
	}
}
