package jetstream

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigurationsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
			if c.config.Address == "0.0.0.0:4222" && private(net.IPv4zero) {
				t.Skip("nobody but this host reaches any of its addresses")
			}
			server, err := Start(c.config)
			if err == nil {
				server.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

func TestRunRefusesFiles(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "nats.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{broken, broken + ".none"} {
		if err := Run(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error = %v, want one that names %s", err, path)
		}
	}
}
