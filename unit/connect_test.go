package unit

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// unitEnvironment writes the environment of a unit, whose conductor connects over TCP, to a
// file. It returns the unit's address.
func unitEnvironment(t *testing.T, token string) string {
	t.Helper()
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	address := launch.Loopback(ports.Numbers[0])
	for _, name := range []string{lab.ControlVariable, lab.TokenVariable, "CLEAVE_SERVICE_DATABASE"} {
		t.Setenv(name, "") // restores the variable, which Open sets, at the end of the test
	}
	text, err := json.Marshal(map[string]string{
		lab.ControlVariable: address, lab.TokenVariable: token, "CLEAVE_SERVICE_DATABASE": "mariadb://secret",
	})
	testset.Must(t, err)
	path := filepath.Join(t.TempDir(), "environment")
	testset.Must(t, os.WriteFile(path, text, 0o600))
	t.Setenv(lab.EnvironmentVariable, path)
	return address
}

// open calls Open in the background.
func open() (opened chan *Channel, failed chan error) {
	opened = make(chan *Channel, 1)
	failed = make(chan error, 1)
	go func() {
		channel, err := Open()
		opened <- channel
		failed <- err
	}()
	return opened, failed
}

// dial connects as soon as the unit listens, and sends hello.
func dial(t *testing.T, address, hello string) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		testset.Must(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = connection.Write([]byte(hello))
		testset.Must(t, err)
		return connection
	}
}

func TestOnlyTheConductorIsAccepted(t *testing.T) {
	address := unitEnvironment(t, "right")
	opened, failed := open()
	for _, hello := range []string{"wrong\n", "\n", "righ\n", "right2\n", strings.Repeat("x", 2*maxToken),
		`{"command":"start"}` + "\n"} {
		stranger := dial(t, address, hello)
		testset.Must(t, stranger.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := stranger.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a caller that sends %.20q is not disconnected: %v", hello, err)
		}
	}
	conductor := dial(t, address, "right\n"+`{"command":"start"}`+"\n")
	channel := <-opened
	testset.Must(t, <-failed)
	testset.Must(t, errors.Join(channel.Await(lab.CommandStart), channel.Ready()))
	received := bufio.NewReader(conductor)
	for _, want := range []string{"\n", `{"event":"ready"}` + "\n"} { // awaitConductor sends the empty line
		if line, err := received.ReadString('\n'); err != nil || line != want {
			t.Errorf("the conductor receives %q (%v), want %q", line, err, want)
		}
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the unit goes on listening")
	}
	if os.Getenv("CLEAVE_SERVICE_DATABASE") != "mariadb://secret" {
		t.Error("the variables of the file are not set")
	}
	testset.Must(t, conductor.Close())
	if err := channel.Await(lab.CommandStop); !errors.Is(err, ErrGone) {
		t.Errorf("Await after the conductor's end: %v", err)
	}
}

// TestSilentCallersDoNotBlockTheConductor: the conductor is accepted soon even if many callers send nothing.
func TestSilentCallersDoNotBlockTheConductor(t *testing.T) {
	address := unitEnvironment(t, "right")
	_, failed := open()
	begun := time.Now()
	for range 74 {
		dial(t, address, "")
	}
	dial(t, address, "right\n")
	if err := <-failed; err != nil || time.Since(begun) > tokenTimeout*3/4 {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// TestNoDescriptorIsLeft: while the process has no free file descriptor, Open waits. After that it accepts
// the conductor.
func TestNoDescriptorIsLeft(t *testing.T) {
	address := unitEnvironment(t, "right")
	_, failed := open()
	dial(t, address, "wrong\n")               // from now on the unit listens
	giveBack := testset.TakeDescriptors(t, 1) // one is left, for the socket of dial
	dial(t, address, "right\n")
	select {
	case err := <-failed:
		t.Errorf("without a descriptor: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	giveBack()
	testset.Must(t, <-failed)
}

func TestOpenRefusesAnUnreadableEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "environment")
	t.Setenv(lab.EnvironmentVariable, path)
	if _, err := Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	testset.Must(t, os.WriteFile(path, []byte("A=B"), 0o600))
	if _, err := Open(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is no JSON: %v", err)
	}
}

// TestFilesAreHandedOverInPieces: a file of two and a half pieces is sent as three events, and an empty one
// as one event, so that the conductor writes it, too.
func TestFilesAreHandedOverInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "front.observed")
	for text, want := range map[string]int{strings.Repeat("01", pieceBytes*5/4): 3, "": 1} {
		testset.Must(t, os.WriteFile(path, []byte(text), 0o600))
		if got, pieces := handedOver(t, path); got != text || pieces != want {
			t.Errorf("%d bytes in %d pieces, want %d in %d", len(got), pieces, len(text), want)
		}
	}
	if err := NewChannel(strings.NewReader(""), io.Discard).HandOver(path + ".missing"); err == nil {
		t.Error("a missing file was handed over")
	}
}

// handedOver hands a file over, checks the events, and returns the text and the number of its pieces.
func handedOver(t *testing.T, path string) (got string, pieces int) {
	t.Helper()
	var out strings.Builder
	testset.Must(t, NewChannel(strings.NewReader(""), &out).HandOver(path))
	events := json.NewDecoder(strings.NewReader(out.String()))
	for events.More() {
		var event lab.Event
		var piece lab.FilePiece
		testset.Must(t, errors.Join(events.Decode(&event), json.Unmarshal(event.Data, &piece)))
		if event.Event != lab.EventFile || piece.File != filepath.Base(path) || len(piece.Data) > pieceBytes {
			t.Errorf("event %s of %d bytes of %s", event.Event, len(piece.Data), piece.File)
		}
		got, pieces = got+string(piece.Data), pieces+1
	}
	return got, pieces
}
