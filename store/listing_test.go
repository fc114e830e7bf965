package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// recordingFS is a file system that records which files are opened.
type recordingFS struct {
	fs.FS
	names   []string
	refused error // the error of Open; nil: files can be opened
}

func (o *recordingFS) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	if o.refused != nil {
		return nil, o.refused
	}
	return o.FS.Open(name)
}

// TestAListReadsOnlyWhatChanged checks that each list after the first reads only the files of runs that have
// changed.
func TestAListReadsOnlyWhatChanged(t *testing.T) {
	s, folders := shelf(t, 1, 2, 3)
	files := &recordingFS{FS: s.files}
	s.files = files
	// list returns the list of runs. It checks the number of files that are opened for it: four for each run
	// that is read.
	list := func(why string, reads int) []lab.ListedRun {
		t.Helper()
		files.names = nil
		runs, _, err := s.Runs()
		testset.Must(t, err)
		if len(files.names) != reads {
			t.Errorf("%s: %d files are opened, want %d: %q", why, len(files.names), reads, files.names)
		}
		return runs
	}
	files.refused = syscall.EMFILE
	if runs := list("too many files are open", 3*4); !strings.Contains(runs[0].Damaged, "too many open files") {
		t.Errorf("with files that cannot be opened: %+v", runs)
	}
	files.refused = nil
	newest := list("the first list that can be read", 3*4)[0].Name
	list("nothing has changed", 0)

	notes := lab.Notes{Schema: lab.NotesSchema, Text: "a note"}
	testset.Must(t, errors.Join(s.WriteNotes(newest, notes),
		folders[0].Write(AnalysisFile, []byte(answered))))
	runs := list("a note, and a report", 2*4)
	if runs[0].Notes.Text != "a note" || runs[2].Sentence != "b is slower." || runs[2].State != lab.RunReported {
		t.Errorf("listed are %+v", runs)
	}

	rewrite(t, folders[0].Path(AnalysisFile))
	list("a file that is written in place", 4)

	testset.Must(t, folders[1].Lock())
	if runs := list("a run is played", 0); runs[1].State != lab.RunPlaying {
		t.Errorf("a run that is played is %s", runs[1].State)
	}
	folders[1].Unlock()
	testset.Must(t, os.RemoveAll(folders[1].Dir()))
	if runs := list("a run is removed", 0); len(runs) != 2 || len(s.entries) != 2 {
		t.Errorf("%d runs are listed and %d remembered, want 2", len(runs), len(s.entries))
	}
}

// TestAListOfManyBytesIsReadInParts checks that each list reads a bounded sum of bytes, caches what it has
// read, and reports what it left out.
func TestAListOfManyBytesIsReadInParts(t *testing.T) {
	s, folders := shelf(t, 1, 2, 3)
	large := []byte(`{"answer": {}, "x": "` + strings.Repeat("x", 10_000)) // damaged: its end is missing
	for _, folder := range folders {
		testset.Must(t, folder.Write(AnalysisFile, large))
	}
	s.maxBytes = int64(len(large))
	for n := 1; n <= 3; n++ {
		runs, left, err := s.Runs()
		if err != nil || len(runs) != n || left != (lab.LeftOut{Unread: 3 - n}) {
			t.Errorf("list %d has %d runs and left out %+v, %v", n, len(runs), left, err)
		}
	}
	s.maxFolders = 2
	runs, left, err := s.Runs()
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

// rewrite writes the same bytes into a file in place and restores its modification time, so that only its
// change time differs.
func rewrite(t *testing.T, name string) {
	t.Helper()
	before, err := os.Stat(name)
	testset.Must(t, err)
	text, err := os.ReadFile(name)
	testset.Must(t, err)
	for same := true; same; { // the clock of the file system advances in steps of some milliseconds
		err := errors.Join(os.WriteFile(name, text, 0o600), os.Chtimes(name, time.Time{}, before.ModTime()))
		after, statErr := os.Stat(name)
		testset.Must(t, errors.Join(err, statErr))
		same = after.Sys().(*syscall.Stat_t).Ctim == before.Sys().(*syscall.Stat_t).Ctim
	}
}
