package deploytest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// withStore returns a layout in which the lead uses a server. A command and a visit prepare the server's
// volume; each counts as a life in the file that the server keeps.
func withStore(ready func(ctx context.Context, address string) error) lab.Layout {
	l := Layout("front")
	args := []string{"store", "{dir}/etc/store.conf", "{dir}/kept"}
	l.Units[0].Peers = append(l.Units[0].Peers, "store")
	l.Units[0].Args = append(l.Units[0].Args, "store")
	l.Units[0].Env = []string{"STORE=store://me@" + lab.AddressOf("store")}
	l.Units = append(l.Units, lab.UnitSpec{
		Name: "store", Role: "server",
		Runnable: lab.Runnable{
			Foreign: true, Args: args,
			Files: map[string][]byte{"etc/store.conf": []byte("{host}:{port} {host}:{port:further}")},
			Server: &lab.Server{
				Kind: "shelf", Ready: ready,
				Setup: []lab.ServerSetup{
					{Args: []string{"move", "", "{dir}/first"}},
					{Args: []string{"move", "{dir}/first", "{dir}/kept"}},
					{Args: args, Visit: inLife(2)},
				},
			},
		},
		Networking: lab.Networking{Listens: true, Ports: []string{"further"}},
	})
	return l
}

// answerPatience bounds how long a server takes to answer. Nothing answers at the address of a killed
// container, and the kernel would retry for over a minute.
const answerPatience = 5 * time.Second

// checkAnswer returns an error unless a server gives an answer, such as "store:2" in its second life.
func checkAnswer(address, want string) error {
	text, err := readAnswer(address, answerPatience)
	if err == nil && text != want {
		err = fmt.Errorf("it says %q, want %q", text, want)
	}
	return err
}

// inLife returns a check that the store is in its n-th life.
func inLife(n int) func(context.Context, string) error {
	return func(_ context.Context, address string) error {
		return checkAnswer(address, fmt.Sprintf("store:%d", n))
	}
}

// storeLayout returns the layout of withStore as the deployer can run it, and first, the life in which the
// server is first used: the third, or the second on a deployer that cannot make the visit of the setup. The
// server counts as ready in the life that expect returns for first.
func (s *suite) storeLayout(t *testing.T, expect func(first int) int) (l lab.Layout, first int) {
	first = 3
	l = withStore(func(ctx context.Context, address string) error { return inLife(expect(first))(ctx, address) })
	var incapable *lab.Incapable
	if store := l.Units[2].Server; errors.As(s.Preflight(t.Context(), l), &incapable) {
		store.Setup = slices.DeleteFunc(store.Setup, func(setup lab.ServerSetup) bool { return setup.Visit != nil })
		first--
	}
	return l, first
}

// server checks that a server can be used, also after a kill and after a restart, and that it keeps its place
// among the units.
func server(t *testing.T, s *suite) {
	more := 0 // lives after the first use
	l, first := s.storeLayout(t, func(first int) int { return first + more })
	d := s.play(t, l.PreparedFor([]lab.Fault{{Target: "store", Kind: lab.FaultKill}}))
	endpoint := endpointOf(t, d, "store")
	harm(t, d, "store", lab.FaultKill)
	expect(t, endpoint, silence, "", "a server that was killed")
	more = 1
	heal(t, d, "store", lab.FaultKill)
	NoError(t, inLife(first+1)(t.Context(), endpoint.Dial))
	more = 2
	harm(t, d, "store", lab.FaultRestart)
	heal(t, d, "store", lab.FaultRestart)
	if units := d.Units(); len(units) != 3 || units[2].Name != "store" || units[2].Role != "server" {
		t.Errorf("units %+v, want the server among them, in its place", units)
	}
	reports := reportsOf(t, d)
	if want := fmt.Sprintf(`"front:1 store:%d store://me@its address"`, first); string(reports[0].Data) != want {
		t.Errorf("the lead reports %s, want %s", reports[0].Data, want)
	}
	if err := inLife(first+2)(t.Context(), endpoint.Dial); err != nil {
		t.Errorf("after the reports, when the audit comes: %v", err)
	}
	goesOn(t, d)
}

// serverThatEnds checks that the end of a server outranks the failure of its client, which may notice it
// first.
func serverThatEnds(t *testing.T, s *suite) {
	l := withStore(inLife(1))
	store := &l.Units[2]
	store.Server.Setup = nil
	store.Args = append([]string{"store-for-once"}, store.Args[1:]...)
	d := s.deploy(t, l)
	_, err := d.Await(Within(t), lab.EventReady)
	if err == nil {
		_, err = d.Await(Within(t), lab.EventFinished)
	}
	says := fmt.Sprint(err)
	if !strings.HasPrefix(says, "shelf ended") && !strings.HasPrefix(says, "shelf failed") {
		t.Errorf("Await: %v, want it to say that the shelf has ended", err)
	}
	select {
	case <-d.Failed():
	default:
		t.Error("the deployment has not failed")
	}
	if failure := d.Failure(); failure == nil || failure.Error() != says {
		t.Errorf("Failure is %v", failure)
	}
}

// serverThatNeverAnswers checks that Deploy ends with its context while a server is not ready, and that its
// error has the last answer.
func serverThatNeverAnswers(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancelCause(Within(t))
	asked := 0
	l := withStore(func(context.Context, string) error {
		if asked++; asked == 5 {
			cancel(errors.New("enough"))
		}
		return errors.New("the shelf is locked")
	})
	l.Units[2].Server.Setup = nil
	_, err := s.Deploy(ctx, l, s.dir)
	Says(t, err, "start store (shelf)", "the shelf is locked", "enough")
}

// shownReady deploys a foreign unit that is ready once its log has a text and a command succeeds, which it
// does at its third call.
func shownReady(t *testing.T, s *suite) {
	asked := filepath.Join(t.TempDir(), "asked")
	l := loneLead(lab.UnitSpec{
		Name: Boxed, Role: "server",
		Runnable: lab.Runnable{Foreign: true, Args: []string{"boxed", "{dir}", "{host}:{port}"}},
		Lifecycle: lab.Lifecycle{
			Readiness: lab.Readiness{
				Log:     "boxed listens, life",
				Command: []string{"sh", "-c", `echo "$0" >> "$1"; test $(wc -l < "$1") -ge 3`, "{host}:{port}", asked},
			},
		},
		Networking: lab.Networking{Listens: true},
	})
	d := s.deploy(t, l.PreparedFor([]lab.Fault{{Target: Boxed, Kind: lab.FaultRestart}}))
	checkAsked := func(lives int) {
		t.Helper()
		text, err := os.ReadFile(asked)
		testset.Must(t, err)
		lines := strings.Fields(string(text))
		if len(lines) != 2+lives {
			t.Fatalf("the command was called with %q, want it three times, and once for every later life", lines)
		}
		NoError(t, checkAnswer(lines[len(lines)-1], fmt.Sprintf("boxed:%d", lives)))
	}
	checkAsked(1)
	Await(t, d, lab.EventReady)
	harm(t, d, Boxed, lab.FaultRestart)
	heal(t, d, Boxed, lab.FaultRestart)
	checkAsked(2)
	if log := d.Logs()[Boxed]; log != "boxed listens, life 1\nboxed listens, life 2\n" {
		t.Errorf("its log is %q", log)
	}
}
