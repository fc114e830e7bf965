package udsservice

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) { bigtest.WholeTrials(t, big.UDS) }

// TestWorkerRefuses plays the core and the neighbour of worker 0, which must fail with the right error.
func TestWorkerRefuses(t *testing.T) {
	const core, self, neighbour = "DIR/core.sock", "DIR/worker-00000.sock", "DIR/worker-00001.sock"
	meet := fmt.Sprintf(`{"op":"neighbourhood","content":["%s","%s"]}`, self, neighbour)
	for _, test := range []struct {
		name     string
		messages []string // sent to the worker, one connection each
		want     string   // in its failure
	}{
		{"no json", []string{"ping"}, "decode message"},
		{"nothing", []string{""}, "decode message"},
		{"half a message", []string{`{"op":"pi`}, "decode message"},
		{"unknown op", []string{`{"op":"dance"}`}, `op "dance"`},
		{"ping without sender", []string{meet, `{"op":"ping"}`}, "want an address"},
		{"ping of a stranger", []string{meet, `{"op":"ping","content":"DIR/worker-00009.sock"}`}, "no neighbour"},
		{"ping before the neighbourhood", []string{`{"op":"ping","content":"` + neighbour + `"}`}, "no neighbour"},
		{"pong without a ping", []string{meet, `{"op":"pong","content":"` + neighbour + `"}`},
			"got a pong from neighbour 1, awaited -1"},
		{"neighbourhood of others", []string{`{"op":"neighbourhood","content":["` + neighbour + `","` + self +
			`"]}`}, "want " + "DIR/worker-00000.sock at index 0"},
		{"neighbourhood of numbers", []string{`{"op":"neighbourhood","content":[1,2]}`}, "want addresses"},
		{"neighbour does not listen", []string{meet, `{"op":"pong","content":"` + core + `"}`},
			"worker-00001.sock"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := bigtest.Start(t, bigtest.Trial{Architecture: big.UDS, Neighbourhoods: 1, Workers: 2, Pings: 20},
				"worker-00000")
			inDir := func(text string) string { return strings.ReplaceAll(text, "DIR", d.Dir) }
			listener, err := net.Listen("unix", inDir(core))
			testset.Must(t, err)
			defer func() { _ = listener.Close() }() // nothing is buffered
			if message, err := receive(listener); err != nil || message.Op != OpRegister {
				t.Fatalf("registration %+v, error %v", message, err)
			}
			for _, message := range test.messages {
				sendText(t, inDir(self), inDir(message))
			}
			failure := d.AwaitFailure()
			if !strings.Contains(failure, inDir(test.want)) || !strings.Contains(failure, "worker 0") {
				t.Errorf("failure %q, want one of worker 0 with %q", failure, inDir(test.want))
			}
		})
	}
}

// TestDismissClosesTheListener although a worker does not get its stop message.
func TestDismissClosesTheListener(t *testing.T) {
	t.Setenv("CLEAVE_DIR", t.TempDir())
	workers, err := NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}})
	testset.Must(t, err)
	c := workers.(*core)
	_, err = c.Register("worker that does not listen")
	testset.Must(t, err)
	if err := c.Dismiss(); err == nil {
		t.Error("a worker that does not listen was dismissed")
	}
	if err := c.listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener closes a second time with %v", err)
	}
}

// sendText sends text over a connection of its own.
func sendText(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.Dial("unix", address)
	testset.Must(t, err)
	_, err = conn.Write([]byte(text))
	testset.Must(t, err)
	testset.Must(t, conn.Close())
}
