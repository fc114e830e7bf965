package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// daemon returns a client of a fake daemon with a handler.
func daemon(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	dockertest.Fake(t, handler)
	c, err := Open(t.Context())
	testset.Must(t, err)
	return c
}

func TestCreateSaysWhatTheContainerIs(t *testing.T) {
	var path string
	var got map[string]any
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.String()
		deploytest.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"Id":"abc","Warnings":[]}`) // the client reads it
	})
	err := c.Create(t.Context(), "unit", Container{
		Image: "image", Cmd: []string{"/program"}, HostConfig: HostConfig{NetworkMode: "net",
			LogConfig: LogConfig{Type: "none"}},
		NetworkingConfig: NetworkingConfig{EndpointsConfig: map[string]Endpoint{"net": EndpointAt("198.18.0.10")}},
	})
	if err != nil || path != "/v1.41/containers/create?name=unit" {
		t.Fatalf("Create asked for %s: %v", path, err)
	}
	text, err := json.Marshal(got)
	testset.Must(t, err)
	for _, want := range []string{`"Type":"none"`, `"net":{"IPAMConfig":{"IPv4Address":"198.18.0.10"}}`,
		`"Cmd":["/program"]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("Create sent %s, want it to have %s", text, want)
		}
	}
}

func TestARefusalHasTheDaemonsMessage(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusConflict
		if r.Method == http.MethodDelete {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"the name is in use"}`) // the client reads it
	})
	if err := c.Start(t.Context(), "unit"); err == nil ||
		err.Error() != "start the container unit: the name is in use" {
		t.Errorf("Start: %v", err)
	}
	if err := c.Remove(t.Context(), "container", "unit"); err != nil {
		t.Errorf("Remove of what is not there: %v", err)
	}
}

func TestADaemonThatDoesNotAnswerIsGivenUp(t *testing.T) {
	c := daemon(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	why := errors.New("nobody wants it any more")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	for what, do := range map[string]func() error{
		"Kill":   func() error { return c.act(ctx, "unit", "kill", nil) },
		"Attach": func() error { _, err := c.Attach(ctx, "unit", false); return err },
		"Wait":   func() error { _, _, err := c.Wait(ctx, "unit", notKilled); return err },
	} {
		if err := do(); !errors.Is(err, why) {
			t.Errorf("%s: %v, want the reason why it was given up", what, err)
		}
	}
}

// notKilled tells Wait that the test has not ended the container.
func notKilled() bool { return false }

// TestAnAnswerWithoutEndIsCut checks that an endless answer does not fill the memory.
func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, `{"Status":"`)
		for piece := bytes.Repeat([]byte("x"), 1<<16); err == nil; {
			_, err = w.Write(piece)
		}
	})
	c.longest = 1 << 20
	for what, do := range map[string]func() error{
		"Inspect": func() error { _, err := c.Inspect(t.Context(), "unit"); return err },
		"Wait":    func() error { _, _, err := c.Wait(t.Context(), "unit", notKilled); return err },
		"Load":    func() error { _, err := c.Load(t.Context(), strings.NewReader("")); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAttachJoinsBothOutputs(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		// Both outputs, an empty piece, and one as long as a whole buffer.
		_, _ = w.Write([]byte("\x01\x00\x00\x00\x00\x00\x00\x04one\n" +
			"\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x04two\n"))
		_, _ = w.Write(append([]byte("\x01\x00\x00\x00\x00\x01\x00\x00"), bytes.Repeat([]byte("x"), 1<<16)...))
	})
	output, err := c.Attach(t.Context(), "unit", false)
	testset.Must(t, err)
	text, err := io.ReadAll(output)
	if want := "one\ntwo\n" + strings.Repeat("x", 1<<16); err != nil || string(text) != want {
		t.Errorf("read %d bytes, %.20q (%v), want %d", len(text), text, err, len(want))
	}
	deploytest.NoError(t, output.Close())
}

// TestATerminalHasNoPieces checks that the output of a terminal is passed on as it is.
func TestATerminalHasNoPieces(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ready to serve\r\n")
	})
	output, err := c.Follow(t.Context(), "unit", true)
	testset.Must(t, err)
	if text, err := io.ReadAll(output); err != nil || string(text) != "ready to serve\r\n" {
		t.Errorf("read %q, %v", text, err)
	}
	deploytest.NoError(t, output.Close())
}

// TestAPauseIsVerified checks that Pause waits until the daemon reports the container as paused, and fails
// if it does not.
func TestAPauseIsVerified(t *testing.T) {
	late, state := 1, "paused"
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		seen := state
		if late--; late >= 0 {
			seen = "running"
		}
		_, _ = io.WriteString(w, `{"State":{"Status":"`+seen+`"}}`)
	})
	deploytest.NoError(t, c.Pause(t.Context(), "unit"))
	state = "running"
	if err := c.Pause(t.Context(), "unit"); err == nil ||
		err.Error() != `pause the container unit: its state is "running"` {
		t.Errorf("Pause: %v", err)
	}
}

func TestOpenNamesWhatItCannotReach(t *testing.T) {
	for host, want := range map[string]string{
		"ssh://other": `"ssh://other", and only unix:// and tcp:// are supported`,
		"unix:///no/such/socket": "the Docker daemon at unix:///no/such/socket: dial unix /no/such/socket: " +
			"connect: no such file or directory",
	} {
		t.Setenv("DOCKER_HOST", host)
		if _, err := Open(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open at %s: %v, want %q", host, err, want)
		}
	}
}

// TestUnanswered checks the advice to a user who may not ask the daemon, and if no daemon runs.
func TestUnanswered(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}, "usermod -aG docker"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
			"systemctl start docker"},
	} {
		if err := Unanswered("containers need", c.err); !errors.Is(err, c.err) ||
			!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "containers need Docker") {
			t.Errorf("%v: %v, want %q in it", c.err, err, c.want)
		}
	}
}

// TestALogIsContinued checks that each piece of a log is copied once, though the swarm sends the overlap
// again.
func TestALogIsContinued(t *testing.T) {
	var asked []string
	var sends string
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("since"))
		_, _ = io.WriteString(w, sends)
	})
	piece := func(output byte, text string) string {
		return string([]byte{output, 0, 0, 0, 0, 0, 0, byte(len(text))}) + text
	}
	second := func(n, nanoseconds int, text string) string {
		return fmt.Sprintf("2026-11-26T15:00:%02d.%09dZ %s", n, nanoseconds, text)
	}
	first := piece(1, second(1, 0, "one\n")) + piece(1, second(2, 5, "two ")) + piece(1, second(2, 5, "three\n"))
	var mark LogMark
	var read strings.Builder
	for _, step := range []struct{ sends, read, since, says string }{
		{first, "one\ntwo three\n", "", ""},
		{first, "", "1795705201.000000005", ""},
		{first[:len(first)-1], "", "1795705201.000000005", "unexpected EOF"},
		{first + piece(2, second(2, 4, "late\n")) + piece(1, second(2, 5, "four\n")) +
			piece(1, second(4, 0, "five\n")), "late\nfour\nfive\n", "1795705201.000000005", ""},
		{piece(2, second(2, 4, "late\n")) + piece(2, second(4, 1, "six\n")) + piece(3, "the node is gone\n"),
			"six\n", "1795705203.000000000", "read the log of the task unit: the node is gone"},
		{string([]byte{1, 0, 0, 0, 0xff, 0, 0, 0}), "", "1795705203.000000001", "at most 1048576"},
	} {
		read.Reset()
		sends = step.sends
		err := c.TaskLog(t.Context(), "unit", &mark, &read)
		if read.String() != step.read || asked[len(asked)-1] != step.since ||
			(err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("read %q since %q, %v; want %+v", read.String(), asked[len(asked)-1], err, step)
		}
	}
}
