package database_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
)

func TestOpenRefuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no", "such", "folder", "x.db")
	cases := []struct {
		name, reason string
		config       database.Config
	}{
		{"unknown driver", `no driver "oracle"`, database.Config{Driver: "oracle", DSN: "x"}},
		{"no DSN", "give at least one connection and a DSN", database.Config{Driver: database.SQLite}},
		{"negative pool", "-1 connections", database.Config{Driver: database.SQLite, DSN: "x", Connections: -1}},
		{"no folder", "open sqlite", database.Config{Driver: database.SQLite, DSN: missing}},
		{"no server, mariadb", "is it running", database.Config{Driver: database.MariaDB,
			DSN: "u:secret@tcp(127.0.0.1:9)/x"}},
		{"no server, postgres", "is it running", database.Config{Driver: database.PostgreSQL,
			DSN: "postgres://u:secret@127.0.0.1:9/x"}},
		{"bad DSN, mariadb", "must look like", database.Config{Driver: database.MariaDB, DSN: "u:secret@nowhere"}},
		{"bad DSN, postgres", "must look like", database.Config{Driver: database.PostgreSQL,
			DSN: "postgres://u:secret@h:port/x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := database.Open(context.Background(), c.config)
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("error = %v, want one with %q", err, c.reason)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
}

// TestUnavailable checks that the error of a server that does not answer counts as unavailable.
func TestUnavailable(t *testing.T) {
	_, err := database.Open(context.Background(),
		database.Config{Driver: database.MariaDB, DSN: "u:p@tcp(127.0.0.1:9)/x"})
	if !database.IsUnavailable(err) {
		t.Errorf("refused connection: %v is not unavailable", err)
	}
}
