package behaviour

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// classes is the archive with the classes that units in Java load.
var classes archive

// archive is a file of class data sharing, written by a first unit for all later ones: to find and check the
// classes anew takes a third of the processor time of a start.
type archive struct {
	once sync.Once
	dir  string
}

// options returns the options of Java for a test's units: with the archive, and without the optimizing
// compiler, which costs more than it wins in a test's seconds.
func (a *archive) options(t *testing.T, r runtime) []string {
	const options = "JAVA_OPTS=-XX:TieredStopAtLevel=1 "
	file := func() string { return filepath.Join(a.dir, "classes.jsa") }
	a.once.Do(func() {
		dir, err := os.MkdirTemp("", "cleave-java-")
		testset.Must(t, err)
		a.dir = dir
		t.Run("archive of classes", func(t *testing.T) {
			r.options = []string{options + "-XX:ArchiveClassesAtExit=" + file()}
			r.patience = time.Minute // it writes the archive at its end
			startProcesses(t, r, []string{Monolith}, data())
		})
	})
	return []string{options + "-XX:SharedArchiveFile=" + file()}
}

func (a *archive) remove() { _ = os.RemoveAll(a.dir) }
