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
	"os/exec"
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
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// connectedTo returns a host whose agent is the function serve.
func connectedTo(serve func(net.Conn)) *host {
	ours, theirs := net.Pipe()
	go serve(theirs)
	h := &host{name: "left", ended: make(chan struct{}), stderr: &fleet.Tail{}}
	h.end = sync.OnceFunc(func() {
		_ = ours.Close() // it ends serve, too
		close(h.ended)
	})
	h.answers = bounded.New(ours, maxAnswer)
	h.client = rpc.NewClient(connection{h.answers, ours})
	return h
}

// hangs is an agent that answers no calls.
func hangs(from net.Conn) { _, _ = io.Copy(io.Discard, from) } // until it is closed

// trialOn returns a trial on a host, and its unit, whose output is awaited.
func trialOn(t *testing.T, h *host) (*deployment, *unit) {
	t.Helper()
	layout := deploytest.Layout("front")
	d := &deployment{hosts: []*host{h}, deployer: newDeployer("", "", []string{h.name}), dir: t.TempDir()}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(layout, t.TempDir()), d.dir, d.platform())
	d.deployer.hosts = d.hosts
	d.deployer.launcher = &launch.Launcher{} // it starts nothing
	u := d.newUnit(layout.Units[1])
	d.Add(u)
	go u.listen()
	return d, u
}

// TestAHungAgentIsGivenUp checks that neither Stop nor Preflight waits for an agent that does not answer, and
// that such an agent fails the trial when the lease cannot be renewed.
func TestAHungAgentIsGivenUp(t *testing.T) {
	for name, try := range map[string]func(*deployment, *host) error{
		"Stop": func(d *deployment, _ *host) error { return d.Stop() },
		"Preflight": func(d *deployment, _ *host) error {
			return d.deployer.Preflight(context.Background(), deploytest.Layout("front"))
		},
		"lease": func(d *deployment, h *host) error {
			go h.renewLease(h.client, h.ended)
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

// TestAPreflightEndsWithItsContext checks that Preflight ends with its context, without giving up the agent.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connectedTo(hangs)
		d, _ := trialOn(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := d.deployer.Preflight(ctx, deploytest.Layout("front"))
		if !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begun) > time.Second || !h.isConnected() {
			t.Errorf("after %v: %v, the agent is there: %t", time.Since(begun), err, h.isConnected())
		}
		h.end()
	})
}

// TestTheFirstKnownTextExplains checks that the same output of ssh always gets the same advice, also if it
// has several known texts.
func TestTheFirstKnownTextExplains(t *testing.T) {
	h := &host{name: "left", stderr: &fleet.Tail{}}
	_, _ = io.WriteString(h.stderr, "sh: No space left on device\nsh: agent: Permission denied\n")
	for range 100 {
		if err := h.explain(); !strings.Contains(err.Error(), "folder for temporary files is full") {
			t.Fatal(err)
		}
	}
}

// late is an agent that answers Next only when released is closed.
type late struct{ released chan struct{} }

// Next is a method of agent.Host.
func (l late) Next(_ int, next *process.Output) error {
	<-l.released
	next.Error = "late"
	return nil
}

// Stop is a method of agent.Host.
func (l late) Stop(agent.None, *agent.None) error { return nil }

// serve serves the agent's calls.
func (l late) serve(from net.Conn) {
	server := rpc.NewServer()
	if err := server.RegisterName(agent.Service, l); err != nil {
		panic(err) // its methods are those above
	}
	server.ServeConn(from)
}

// TestAUnitThatNeverEnds checks that Stop does not wait forever for the end of a unit, and that its
// error names the host.
func TestAUnitThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		h := connectedTo(late{released}.serve)
		d, u := trialOn(t, h)
		deploytest.Says(t, d.Stop(), "host left does not say within 1m0s that unit front has ended")
		h.end()
		close(released)
		<-u.Ended
	})
}

// TestALateAnswerIsThrownAway checks that an answer after the end of the context does not change what the
// caller has got. The race detector shows a write.
func TestALateAnswerIsThrownAway(t *testing.T) {
	released := make(chan struct{})
	h := connectedTo(late{released}.serve)
	why := errors.New("nobody wants it any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	output, err := call[process.Output](ctx, h, "Next", 0)
	close(released)
	output.Error += "mine"
	if !errors.Is(err, why) || output.Error != "mine" {
		t.Errorf("it returns %q, %v", output.Error, err)
	}
	if next, err := call[process.Output](t.Context(), h, "Next", 0); err != nil || next.Error != "late" {
		t.Errorf("the next call returns %q, %v", next.Error, err)
	}
	h.end()
}

// TestAnAnswerWithoutEnd checks that an answer that is too long ends the connection.
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
	deploytest.Says(t, h.do(t.Context(), "Stop", agent.None{}), "more than 67108864 bytes")
}

// fakeSSH replaces ssh by a shell script with these commands.
func fakeSSH(t *testing.T, commands string) {
	t.Helper()
	folder := t.TempDir()
	script := "#!/bin/sh\n" + commands + "\n"
	testset.Must(t, os.WriteFile(filepath.Join(folder, "ssh"), []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// agentFile returns the path of an empty file in place of the agent's program, which fakeSSH does not run.
func agentFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	testset.Must(t, os.WriteFile(path, nil, 0o600))
	return path
}

// TestAFailedReconnectIsReportedOnce checks that the error names only the failure of the new connection. The
// end of the earlier one has failed a trial already.
func TestAFailedReconnectIsReportedOnce(t *testing.T) {
	fakeSSH(t, `if [ "$1" = -G ]; then echo hostname 127.0.0.1; else echo Connection refused >&2; exit 255; fi`)
	h := connectedTo(hangs)
	h.launcher = launch.NewLauncher()
	defer h.launcher.Close()
	h.end()
	d := newDeployer("", agentFile(t), []string{h.name})
	d.launcher = h.launcher
	d.hosts = []*host{h}
	_, err := d.connected(t.Context())
	if err == nil || strings.Count(err.Error(), "Connection refused") != 1 {
		t.Errorf("%v, want the failure once", err)
	}
}

// TestAnInterruptedCleanSaysSo checks that Clean returns why its context ended, and not that ssh was killed.
func TestAnInterruptedCleanSaysSo(t *testing.T) {
	fakeSSH(t, "exec sleep 60")
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer time.AfterFunc(100*time.Millisecond, func() { cancel(interrupted) }).Stop()
	if _, err := Clean(ctx, agentFile(t), "label", []string{"left"}); !errors.Is(err, interrupted) {
		t.Errorf("Clean: %v", err)
	}
}

// TestAnSSHThatLeavesItsOutputOpen checks that the end of ssh is noticed although another program, such as a
// ProxyCommand, keeps its standard error open, and that this is no failure.
func TestAnSSHThatLeavesItsOutputOpen(t *testing.T) {
	child := filepath.Join(t.TempDir(), "child")
	for status, says := range map[string]string{"255": "Connection refused", "0": ""} {
		fakeSSH(t, "echo \""+agent.SystemPrefix+"$(uname -sm)\"\nsleep 60 >/dev/null & echo $! >"+child+
			"\necho Connection refused >&2; exit "+status)
		begun := time.Now()
		_, err := Clean(t.Context(), agentFile(t), "label", []string{"left"})
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("status %s: it took %v", status, took)
		}
		if says == "" {
			deploytest.NoError(t, err)
		} else {
			deploytest.Says(t, err, says)
		}
		testset.Must(t, exec.Command("sh", "-c", "kill $(cat "+child+")").Run())
	}
}

// TestAFailedProofSaysWhy checks that the error of Proof has the text of ssh, or the cause of the end of its
// context.
func TestAFailedProofSaysWhy(t *testing.T) {
	fakeSSH(t, "echo Connection refused >&2; exit 255")
	_, err := Proof(t.Context(), "left")
	deploytest.Says(t, err, "Connection refused")
	fakeSSH(t, "exec sleep 60")
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer time.AfterFunc(100*time.Millisecond, func() { cancel(interrupted) }).Stop()
	if _, err := Proof(ctx, "left"); !errors.Is(err, interrupted) {
		t.Errorf("Proof: %v", err)
	}
}

// TestAHostThatSendsWithoutEnd checks that Proof and awaitLine stop reading from a host that sends without
// end.
func TestAHostThatSendsWithoutEnd(t *testing.T) {
	fakeSSH(t, "exec head -c 1000000000 /dev/zero")
	proof, err := Proof(t.Context(), "left")
	if len(proof) > maxProof || err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("%d bytes of proof, %v", len(proof), err)
	}
	for name, endless := range map[string]io.Reader{
		"a line": zeros{}, "lines": lines{},
	} {
		err := awaitLine(bufio.NewReader(endless), agent.SystemPrefix, func(string) error { return nil })
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxNoise)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros and lines are readers without an end.
type (
	zeros struct{}
	lines struct{}
)

// Read implements io.Reader.
func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// Read implements io.Reader.
func (lines) Read(into []byte) (int, error) { return copy(into, "welcome\n"), nil }

// TestServersThatAreOpenAtFirst checks that servers that let everybody log in when they start are refused at
// public addresses.
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
		err := d.checkUnprotected([]lab.UnitSpec{server, other})
		if public != (err != nil) || public && !strings.Contains(err.Error(), "documents (mongo) lets everybody") {
			t.Errorf("at %s: %v", address, err)
		}
	}
}
