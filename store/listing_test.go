package store

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestAListReadsABoundedSumOfBytes and of folders, and reports what it left out.
func TestAListReadsABoundedSumOfBytes(t *testing.T) {
	s, folders := shelf(t, 1, 2, 3)
	large := []byte(`{"answer": {}, "x": "` + strings.Repeat("x", 10_000)) // damaged: its end is missing
	for _, folder := range folders {
		testset.Must(t, folder.Write(AnalysisFile, large))
	}
	s.maxBytes = int64(len(large))
	runs, left, err := s.Runs()
	if err != nil || len(runs) != 1 || left != (lab.LeftOut{Unread: 2}) {
		t.Errorf("the list has %d runs and left out %+v, %v", len(runs), left, err)
	}
	s.maxFolders = 2
	runs, left, err = s.Runs()
	if err != nil || len(runs) != 1 || !left.Unseen {
		t.Errorf("with a limit of two folders: %d runs, left out %+v, %v", len(runs), left, err)
	}
	s.maxFolders = maxFolders
	for most, unseen := range map[int]bool{4: false, 3: true} { // entries of the study: three runs and a link
		s.maxEntries = most
		if _, left, err := s.Runs(); err != nil || left.Unseen != unseen {
			t.Errorf("with a limit of %d entries the list left out %+v, %v", most, left, err)
		}
	}
}

// TestAFolderThatCannotBeReadHidesNoOthers: the list has all other runs, and says that some may be missing.
func TestAFolderThatCannotBeReadHidesNoOthers(t *testing.T) {
	s, folders := shelf(t, 1)
	study := filepath.Dir(folders[0].Dir())
	for _, name := range []string{"../lost+found", "run"} {
		t.Run(filepath.Base(name), func(t *testing.T) { expectUnseen(t, s, filepath.Join(study, name)) })
	}
}

// expectUnseen checks the list of a shelf with one run and a folder that cannot be read.
func expectUnseen(t *testing.T, s *Shelf, hidden string) {
	t.Helper()
	testset.Must(t, os.Mkdir(hidden, 0))
	defer func() { testset.Must(t, os.Remove(hidden)) }()
	if os.Geteuid() == 0 { // the administrator can read everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		testset.Must(t, syscall.Setfsuid(65534))
		defer func() { testset.Must(t, syscall.Setfsuid(0)) }()
	}
	runs, left, err := s.Runs()
	if err != nil || len(runs) != 1 || runs[0].Damaged != "" || !left.Unseen {
		t.Errorf("%+v, left out %+v, %v; want one run, and that others may be missing", runs, left, err)
	}
}

func TestAHostIsDescribed(t *testing.T) {
	for want, e := range map[string]lab.Environment{
		"Chip, 1 core, Linux 6": {"cpu_model": {Value: "Chip"}, "cores_online": {Value: 1}, "kernel": {Value: 6}},
		"8 cores":               {"cores_online": {Value: 8.0}},
		"":                      {},
	} {
		if got, _ := host(e); got != want {
			t.Errorf("host %q, want %q", got, want)
		}
	}
}
