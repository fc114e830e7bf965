package rehearsalunit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
)

// TestOnlyVisitsWithoutCommitsInTheModelWait: a visit whose model has commits, but which draws none, does not
// wait (see embeddedStore.visit).
func TestOnlyVisitsWithoutCommitsInTheModelWait(t *testing.T) {
	const wait = time.Second
	sleeper := &sleeper{}
	s, err := openStore(t.Context(), t.TempDir(), "store", 0, true, sleeper)
	testset.Must(t, err)
	defer func() { testset.Must(t, s.Close()) }()
	for commits, waits := range map[float64]bool{0: true, 1e-12: false} {
		began := time.Now()
		testset.Must(t, s.visit(t.Context(), visit{Visit: model.Visit{Commits: commits}}, wait))
		if took := time.Since(began); (took >= wait) != waits {
			t.Errorf("a visit with a mean of %g commits took %v; it waits %v: %t", commits, took, wait, waits)
		}
	}
	testset.Must(t, sleeper.Close())
}

// TestAStoreThatCannotBeFilledIsClosed: its database has a table of another form.
func TestAStoreThatCannotBeFilledIsClosed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.sqlite")
	db, err := database.OpenSQLite(t.Context(), database.Config{DSN: path})
	testset.Must(t, err)
	_, err = db.Exec(t.Context(), "CREATE TABLE entry (id INTEGER PRIMARY KEY)")
	testset.Must(t, err)
	testset.Must(t, db.Close())
	if _, err := openStore(t.Context(), dir, "store", 0, true, nil); err == nil ||
		!strings.Contains(err.Error(), "fill the store store: ") {
		t.Errorf("a table that does not fit: %v", err)
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	testset.Must(t, err)
	for _, d := range descriptors {
		if file, _ := os.Readlink("/proc/self/fd/" + d.Name()); strings.HasPrefix(file, path) {
			t.Errorf("%s is still open", file)
		}
	}
}
