//go:build !race

// What the race detector finds here is inside nats-server, where no test of ours
// shall fail for it: these tests run without it.

package jetstream

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestStartServesWhoHasThePassword(t *testing.T) {
	server, err := Start(Config{User: "u", Password: "p", Folder: filepath.Join(t.TempDir(), "streams")})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if !strings.HasPrefix(server.URL(), "nats://127.0.0.1:") {
		t.Errorf("it listens at %s", server.URL())
	}
	connection, err := nats.Connect(server.URL(), nats.UserInfo("u", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if connection.ConnectedServerVersion() != Version() {
		t.Errorf("version %s, want %s", connection.ConnectedServerVersion(), Version())
	}
	connection.Close()
	if connection, err := nats.Connect(server.URL(), nats.UserInfo("u", "wrong")); err == nil {
		connection.Close()
		t.Error("a wrong password is let in")
	}
}

func TestStopFreesTheFolder(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		server, err := Start(Config{Folder: folder})
		if err != nil {
			t.Fatal(err)
		}
		address := strings.TrimPrefix(server.URL(), "nats://")
		server.Stop()
		if connection, err := nats.Connect(address); err == nil {
			connection.Close()
			t.Error("it answers after its stop")
		}
	}
}
