package unit

import (
	"bufio"
	"encoding/json"
	"errors"
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
	must(t, err)
	t.Cleanup(ports.Close)
	address := launch.Loopback(ports.Numbers[0])
	for _, name := range []string{lab.ControlVariable, lab.TokenVariable, "CLEAVE_SERVICE_DATABASE"} {
		t.Setenv(name, "") // restores the variable, which Open sets, at the end of the test
	}
	text, err := json.Marshal(map[string]string{
		lab.ControlVariable: address, lab.TokenVariable: token, "CLEAVE_SERVICE_DATABASE": "mariadb://secret",
	})
	must(t, err)
	path := filepath.Join(t.TempDir(), "environment")
	must(t, os.WriteFile(path, text, 0o600))
	t.Setenv(lab.EnvironmentVariable, path)
	return address
}

// open calls Open in the background.
func open() (opened chan *Channel, failed chan error) {
	opened, failed = make(chan *Channel, 1), make(chan error, 1)
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
		must(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = connection.Write([]byte(hello))
		must(t, err)
		return connection
	}
}

func TestOnlyTheConductorIsHeard(t *testing.T) {
	address := unitEnvironment(t, "right")
	opened, failed := open()
	for _, hello := range []string{"wrong\n", "\n", "righ\n", "right2\n", strings.Repeat("x", 2*maxToken),
		`{"command":"start"}` + "\n"} {
		stranger := dial(t, address, hello)
		must(t, stranger.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := stranger.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("who says %.20q is not sent away: %v", hello, err)
		}
	}
	conductor := dial(t, address, "right\n"+`{"command":"start"}`+"\n")
	channel := <-opened
	must(t, <-failed)
	must(t, errors.Join(channel.Await(lab.CommandStart), channel.Ready()))
	heard := bufio.NewReader(conductor)
	for _, want := range []string{"\n", `{"event":"ready"}` + "\n"} { // first that it has reached the unit
		if line, err := heard.ReadString('\n'); err != nil || line != want {
			t.Errorf("the conductor hears %q (%v), want %q", line, err, want)
		}
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the unit goes on listening")
	}
	if os.Getenv("CLEAVE_SERVICE_DATABASE") != "mariadb://secret" {
		t.Error("the environment of the file was not taken over")
	}
	must(t, conductor.Close())
	if err := channel.Await(lab.CommandStop); !errors.Is(err, ErrGone) {
		t.Errorf("Await after the conductor's end: %v", err)
	}
}

// TestSilentStrangersKeepNobodyAway: any number of callers that send nothing do not keep the conductor out.
func TestSilentStrangersKeepNobodyAway(t *testing.T) {
	address := unitEnvironment(t, "right")
	_, failed := open()
	begun := time.Now()
	for range maxCallers + 10 {
		dial(t, address, "")
	}
	dial(t, address, "right\n")
	if err := <-failed; err != nil || time.Since(begun) > helloPatience*3/4 {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// TestNoDescriptorIsLeft: for a while there is no descriptor for a caller. After that the conductor is
// accepted.
func TestNoDescriptorIsLeft(t *testing.T) {
	address := unitEnvironment(t, "right")
	_, failed := open()
	dial(t, address, "wrong\n")
	give := testset.TakeDescriptors(t, 1) // one is left, for the end of the conductor
	dial(t, address, "right\n")
	select {
	case err := <-failed:
		t.Errorf("without a descriptor: %v", err)
	case <-time.After(10 * acceptAgain):
	}
	give()
	must(t, <-failed)
}

func TestEnvironmentsThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "environment")
	t.Setenv(lab.EnvironmentVariable, path)
	if _, err := Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	must(t, os.WriteFile(path, []byte("A=B"), 0o600))
	if _, err := Open(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("of another form: %v", err)
	}
}

func TestFilesAreHandedOverInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "front.observed")
	text := strings.Repeat("0123456789", pieceBytes/4)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	var out strings.Builder
	must(t, NewChannel(strings.NewReader(""), &out).HandOver(path))
	events, got, pieces := json.NewDecoder(strings.NewReader(out.String())), "", 0
	for events.More() {
		var event lab.Event
		var piece lab.FilePiece
		must(t, errors.Join(events.Decode(&event), json.Unmarshal(event.Data, &piece)))
		if event.Event != lab.EventFile || piece.File != "front.observed" || len(piece.Data) > pieceBytes {
			t.Errorf("event %s of %d bytes of %s", event.Event, len(piece.Data), piece.File)
		}
		got, pieces = got+string(piece.Data), pieces+1
	}
	if got != text || pieces != 3 {
		t.Errorf("%d bytes in %d pieces, want %d in 3", len(got), pieces, len(text))
	}
	if err := NewChannel(strings.NewReader(""), &out).HandOver(path + ".missing"); err == nil {
		t.Error("a file that is not there was handed over")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
