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

// TestAVisitThatDrawsNoCommitWaits as long as one of a store that does not commit.
func TestAVisitThatDrawsNoCommitWaits(t *testing.T) {
	sleeper := &sleeper{}
	s, err := openStore(t.Context(), t.TempDir(), "store", 0, true, sleeper)
	testset.Must(t, err)
	defer func() { testset.Must(t, s.Close()) }()
	began := time.Now()
	testset.Must(t, s.visit(t.Context(), visit{Visit: model.Visit{Commits: 1e-12}}, 20*time.Millisecond))
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("a visit without a commit took %v, want its wait of 20ms", took)
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
