package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
)

func TestEveryTrialHasAFolderOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100%41 #1?") // characters that a URL must escape
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := lab.ServiceSpec{Name: "database", Kind: Kind}
	for range 2 {
		service, err := New().Fresh(t.Context(), spec, dir)
		if err != nil {
			t.Fatal(err)
		}
		place, err := database.ParsePlace(service.Address(""))
		if err != nil {
			t.Fatal(err)
		}
		db, err := database.Open(t.Context(), place.Config("shop", 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), "CREATE TABLE fresh (id INTEGER)"); err != nil {
			t.Errorf("the folder is not fresh: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if service.Server != nil || !strings.HasPrefix(service.About(), "SQLite") {
			t.Errorf("about %q, server %+v", service.About(), service.Server)
		}
		if err := service.Release(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if _, err := New().Fresh(t.Context(), spec, filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}
