package jetstream

import (
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestStartRefusesConfigurations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testset.Must(t, os.WriteFile(file, nil, 0o600))
	cases := []struct {
		name   string
		config Config
		want   string
	}{
		{"no folder", Config{}, "Config.Folder is empty"},
		{"folder that is a file", Config{Folder: file}, "not a directory"},
		{"open to others", Config{Folder: t.TempDir(), Address: "0.0.0.0:4222"}, "is neither on loopback nor"},
		{"on a network of others", Config{Folder: t.TempDir(), Address: "198.20.0.1:4222"},
			"is neither on loopback nor"},
		{"no port", Config{Folder: t.TempDir(), Address: "127.0.0.1"}, "missing port"},
		{"port that is a word", Config{Folder: t.TempDir(), Address: "127.0.0.1:nats"}, `"127.0.0.1:nats"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// On a host without public addresses, as in a container, private accepts the unspecified address.
			if c.config.Address == "0.0.0.0:4222" && private(net.IPv4zero) {
				t.Skip("only this host can reach its addresses")
			}
			server, err := start(c.config)
			if err == nil {
				stop(server)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

func TestRunRefusesFiles(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "nats.json")
	testset.Must(t, os.WriteFile(broken, []byte("{"), 0o600))
	for _, path := range []string{broken, broken + ".none"} {
		if err := Run(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error = %v, want one that names %s", err, path)
		}
	}
}

func TestStartChecksThePassword(t *testing.T) {
	server, err := start(Config{User: "u", Password: "p", Folder: filepath.Join(t.TempDir(), "streams")})
	testset.Must(t, err)
	defer stop(server)
	if !strings.HasPrefix(server.ClientURL(), "nats://127.0.0.1:") {
		t.Errorf("it listens at %s", server.ClientURL())
	}
	connection, err := nats.Connect(server.ClientURL(), nats.UserInfo("u", "p"))
	testset.Must(t, err)
	connection.Close()
	if connection, err := nats.Connect(server.ClientURL(), nats.UserInfo("u", "wrong")); err == nil {
		connection.Close()
		t.Error("a wrong password is accepted")
	}
}

func TestStopFreesTheFolder(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		server, err := start(Config{Folder: folder})
		testset.Must(t, err)
		address := strings.TrimPrefix(server.ClientURL(), "nats://")
		stop(server)
		if connection, err := nats.Connect(address); err == nil {
			connection.Close()
			t.Error("the server answers after stop")
		}
	}
}

// TestServerWritesThisConfig checks that Run can read the configuration file that package server writes. That
// package does not import this one and repeats the names of the fields. It gives JetStream four times the
// memory of its settings.
func TestServerWritesThisConfig(t *testing.T) {
	described, err := server.New(server.NATS, server.Settings{Memory: 2 << 20, Connections: 3})
	testset.Must(t, err)
	address, err := url.Parse(described.URL("127.0.0.1:1"))
	testset.Must(t, err)
	decoder := json.NewDecoder(bytes.NewReader(described.Unit("broker").Files["nats.json"]))
	decoder.DisallowUnknownFields()
	var read Config
	testset.Must(t, decoder.Decode(&read))
	password, _ := address.User.Password()
	want := Config{Address: "{host}:{port}", User: address.User.Username(), Password: password,
		Folder: read.Folder, Memory: 8 << 20, Connections: 3}
	if read != want || !strings.HasPrefix(read.Folder, "{dir}/") || password == "" {
		t.Errorf("read %+v, want %+v and a folder in that of the unit", read, want)
	}
}
