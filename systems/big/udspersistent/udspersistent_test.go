package udspersistent

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) {
	bigtest.WholeTrials(t, big.UDSPersistent, encoding("binary"), encoding("json"))
}

func TestFiveHundredWorkers(t *testing.T) {
	testset.Need(t, "it starts 501 processes")
	if racing {
		t.Skip("501 processes are too many for the race detector: type: go test ./systems/big/udspersistent")
	}
	bigtest.Run(t, bigtest.Trial{Architecture: big.UDSPersistent, Neighbourhoods: 10, Workers: 50, Pings: 20})
}

// encoding returns a value of the knob encoding.
func encoding(value string) map[string]string { return map[string]string{big.KnobEncoding: value} }

// TestWorkerRefuses plays the core and neighbour 0 of worker 1. The neighbour opens the connection between
// them.
func TestWorkerRefuses(t *testing.T) {
	const hello = `{"op":"hello","content":"DIR/worker-00000.sock"}` + "\n"
	for _, test := range []struct {
		name     string
		encoding string
		core     string // what the core sends once the worker is ready
		peer     string // what the neighbour sends
		want     string // in the worker's failure
	}{
		{"kick-off twice", "binary", `{"op":"pong"}` + "\n" + `{"op":"pong"}` + "\n", hello, "out of turn"},
		{"no json from the core", "binary", "go\n", hello, "invalid character"},
		{"nothing", "binary", "", "", "connection to a worker that has not said hello"},
		{"no hello", "binary", "", "\x01\x00\x00\x00\x00\x00\x00\x00\n", "invalid character"},
		{"something else than hello", "binary", "", `{"op":"ping"}` + "\n", "want \"hello\""},
		{"hello of a stranger", "binary", "", `{"op":"hello","content":"DIR/worker-00009.sock"}` + "\n",
			"connection to DIR/worker-00009.sock: it is no neighbour"},
		{"hello of itself", "binary", "", `{"op":"hello","content":"DIR/worker-00001.sock"}` + "\n",
			"connection to neighbour 1: unexpected"},
		{"pong without a ping", "binary", "", hello + "\x02\x00\x00\x00\x00\x00\x00\x00", "awaited -1"},
		{"unknown frame", "binary", "", hello + "\x03\x00\x00\x00\x00\x00\x00\x00", "op 3"},
		{"frame with filled gap", "binary", "", hello + "\x01\x00\x01\x00\x00\x00\x00\x00", "op 65537"},
		{"frame of another sender", "binary", "", hello + "\x01\x00\x00\x00\x07\x00\x00\x00",
			"sender 7 on the link to 0"},
		{"half a frame", "binary", "", hello + "\x01\x00\x00", "unexpected EOF"},
		{"pong without a ping, json", "json", "", hello + `{"op":"pong","content":"DIR/worker-00000.sock"}` + "\n",
			"awaited -1"},
		{"unknown op", "json", "", hello + `{"op":"finish","content":"DIR/worker-00000.sock"}` + "\n",
			`op "finish"`},
		{"ping of another sender", "json", "", hello + `{"op":"ping","content":"DIR/worker-00001.sock"}` + "\n",
			"on the link to"},
		{"no json", "json", "", hello + "ping\n", `message "ping": want {"op":"`},
		{"a line without end", "json", "", hello + strings.Repeat(" ", 2*maxLine), "longer than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial := bigtest.Trial{Architecture: big.UDSPersistent, Knobs: encoding(test.encoding), Neighbourhoods: 1,
				Workers: 2, Pings: 20}
			d := bigtest.Start(t, trial, "worker-00001")
			inDir := func(text string) string { return strings.ReplaceAll(text, "DIR", d.Dir) }
			core, fromWorker := acceptWorker(t, inDir("DIR/core.sock"))
			write(t, core, inDir(`{"op":"neighbourhood","content":["DIR/worker-00000.sock","DIR/worker-00001.sock"]}`+
				"\n"))
			peer, err := net.Dial("unix", inDir("DIR/worker-00001.sock"))
			testset.Must(t, err)
			write(t, peer, inDir(test.peer))
			if test.core != "" {
				if line, err := fromWorker.ReadString('\n'); err != nil || !strings.Contains(line, `"ready"`) {
					t.Fatalf("worker says %q, error %v; want ready", line, err)
				}
				write(t, core, test.core)
			} else if err := peer.Close(); err != nil {
				t.Fatal(err)
			}
			failure := d.AwaitFailure()
			if !strings.Contains(failure, inDir(test.want)) || !strings.Contains(failure, "worker 1") {
				t.Errorf("failure %q, want one of worker 1 with %q", failure, test.want)
			}
		})
	}
}

// acceptWorker plays the core until the worker has registered. The reader has the next messages of the
// worker.
func acceptWorker(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	listener, err := net.Listen("unix", address)
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	conn, err := listener.Accept()
	testset.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	if err != nil || !strings.Contains(line, `"register"`) {
		t.Fatalf("registration %q, error %v", line, err)
	}
	return conn, reader
}

// write sends text over a connection.
func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := fmt.Fprint(conn, text); err != nil {
		t.Fatal(err)
	}
}
