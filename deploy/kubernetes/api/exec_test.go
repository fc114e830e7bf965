package api_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// TestExec checks what is returned of commands that succeed, fail, lose their connection, or do not end.
func TestExec(t *testing.T) {
	// Messages by command. The first byte of a message is its channel: 1 is standard output, 2 is standard
	// error, 3 is the status, after which the server closes the connection. A command that is not listed never
	// ends.
	messages := map[string][]string{
		"succeeds": {"\x01", "\x01out", "\x02, err", "\x03" + `{"status":"Success"}`},
		"fails":    {"\x02no such table", "\x03" + `{"status":"Failure","message":"exit code 1"}`},
		"breaks":   {"\x01out"},
		"prints": append(slices.Repeat([]string{"\x01" + strings.Repeat("x", 10_000)}, 100), "\x01 status 0",
			"\x03"+`{"status":"Success"}`),
		"prints at once": {"\x01" + strings.Repeat("x", 1_000_000) + " status 0", "\x03" + `{"status":"Success"}`},
	}
	server := httptest.NewTLSServer(websocket.Server{Handler: func(caller *websocket.Conn) {
		query := caller.Request().URL.Query()
		if query.Get("container") != "unit" || len(query["command"]) != 2 {
			t.Errorf("asked for %v", query)
		}
		sent, ends := messages[query["command"][1]]
		for _, message := range sent {
			_ = websocket.Message.Send(caller, []byte(message)) // a lost message shows in the result of Exec
		}
		if !ends {
			_, _ = caller.Read(make([]byte, 1)) // until the caller closes the connection
		}
	}})
	defer server.Close()
	client := api.New(server.URL, &tls.Config{InsecureSkipVerify: true})
	run := func(ctx context.Context, how string) (string, error) {
		return client.Exec(ctx, "default", "front", "unit", "program", how)
	}
	printed, err := run(t.Context(), "succeeds")
	if deploytest.NoError(t, err); printed != "out, err" {
		t.Errorf("it has printed %q", printed)
	}
	_, err = run(t.Context(), "fails")
	deploytest.Says(t, err, "exit code 1", "no such table")
	_, err = run(t.Context(), "breaks")
	deploytest.Says(t, err, "wait for a command in the pod front", "EOF")
	for _, how := range []string{"prints", "prints at once"} {
		printed, err := run(t.Context(), how)
		deploytest.NoError(t, err)
		// 64 KiB are kept of 1,000,009 bytes.
		if len(printed) > 66_000 || !strings.HasSuffix(printed, "xx status 0") ||
			!strings.HasPrefix(printed, "[934473 bytes before this are left out] xx") {
			t.Errorf("%s: of a million bytes it returns %d: %.60q", how, len(printed), printed)
		}
	}
	patience := errors.New("out of patience")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, patience)
	defer cancel()
	if _, err = run(ctx, "hangs"); !errors.Is(err, patience) {
		t.Errorf("a command that does not end: %v", err)
	}
}
