package database

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// TestPreparedAreBounded checks that a connection keeps at most maxPrepared statements.
func TestPreparedAreBounded(t *testing.T) {
	inner, err := sqlite.NewConnector("file:" + filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cachingConnector{Connector: inner}.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	connection := opened.(*cachingConn)
	for i := range maxPrepared + 5 {
		if _, err := connection.ExecContext(context.Background(), fmt.Sprintf("PRAGMA user_version = %d", i),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(connection.prepared); n != maxPrepared {
		t.Errorf("%d statements are kept, want %d", n, maxPrepared)
	}
	if err := connection.Close(); err != nil || len(connection.prepared) != 0 {
		t.Errorf("closed with %d statements: %v", len(connection.prepared), err)
	}
}
