package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// Names of derived files in a result folder, and of the user's notes.
const (
	AnalysisFile = "analysis.json"
	ReportFile   = "report.html"
	notesFile    = "notes.json"
)

// Limits of what is read of folders of runs, which may come from strangers.
const (
	mostRuns    = 10_000
	mostHead    = 4 << 20      // bytes of a file, for the list
	mostBytes   = 256 << 20    // of all files of a list, from which on no further one is begun
	mostFolders = 4 * mostRuns // that are looked into for the list
	mostEntries = 2 * mostRuns // of one folder
	mostReport  = 32 << 20
	mostNotes   = 64 << 10
	mostTags    = 20
	longestTag  = 50 // bytes
	longestNote = 10_000
	longestText = 1_000 // bytes of a text in the list
	mostListed  = 12    // bars of a headline, variants
	mostPast    = 100   // runs of a history
	mostTried   = 1_000 // folders, to find them
)

// Shelf is a folder of result folders: that of all studies, or of one. It reads nothing outside, not even
// through links, and writes nothing but notes.
type Shelf struct {
	dir         string
	most        int   // runs of a list
	mostFolders int   // that are looked into for a list
	mostEntries int   // that are read of one folder
	mostBytes   int64 // of all files that are read for a list
	root        *os.Root
	files       fs.FS // those in root, each up to a limit

	mu      sync.Mutex
	entries map[string]entry // of the list, by the name of the run
}

// OpenShelf opens a folder of result folders.
func OpenShelf(dir string) (*Shelf, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the results folder: %w: name one, such as results", err)
	}
	s := &Shelf{dir: dir, most: mostRuns, mostFolders: mostFolders, mostEntries: mostEntries,
		mostBytes: mostBytes, root: root, files: inputfile.Within(root, maxDocument),
		entries: map[string]entry{}}
	if s.isRun(".") {
		return nil, errors.Join(fmt.Errorf("%s is a single run: name the folder above it", dir), s.Close())
	}
	return s, nil
}

// Close closes the folder.
func (s *Shelf) Close() error { return s.root.Close() }

// names returns the names of all runs: of those in the folder, and of those in its studies. unseen reports
// whether there are more folders than are looked into, or more in one of them than is read of it.
func (s *Shelf) names() (all []string, unseen bool, err error) {
	above, unseen, err := s.folders(".")
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.dir, err)
	}
	looked := 0
	for _, name := range above {
		if looked++; looked > s.mostFolders {
			return all, true, nil
		}
		if s.isRun(name) {
			all = append(all, name)
			continue
		}
		below, more, err := s.folders(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, false, fmt.Errorf("list %s: %w", path.Join(s.dir, name), err)
		}
		for _, run := range below[:min(len(below), s.mostFolders-looked)] {
			if run = path.Join(name, run); s.isRun(run) {
				all = append(all, run)
			}
		}
		looked, unseen = looked+len(below), unseen || more
	}
	return all, unseen || looked > s.mostFolders, nil
}

// folders returns the names of the folders in a folder, without links, as entriesOf does.
func (s *Shelf) folders(name string) (names []string, more bool, err error) {
	return s.entriesOf(name, fs.FileMode.IsDir)
}

// entriesOf returns the names of what is of a kind in a folder, without links. more reports whether the
// folder has more entries than are read.
func (s *Shelf) entriesOf(name string, wanted func(fs.FileMode) bool) (names []string, more bool, err error) {
	folder, err := s.root.Open(name)
	if err != nil {
		return nil, false, err
	}
	entries, err := folder.ReadDir(s.mostEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if more = len(entries) > s.mostEntries; more {
		entries = entries[:s.mostEntries]
	}
	for _, entry := range entries {
		if wanted(entry.Type()) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, more, errors.Join(err, folder.Close())
}

// isRun reports whether a folder has a plan.
func (s *Shelf) isRun(name string) bool {
	about, err := s.root.Stat(path.Join(name, planFile))
	return err == nil && about.Mode().IsRegular()
}

// Run returns one run.
func (s *Shelf) Run(name string) (lab.ListedRun, error) {
	if err := s.check(name); err != nil {
		return lab.ListedRun{}, err
	}
	state := s.state(name, heldLocks()) // first, as in the list
	run, _ := readListed(s.files, name)
	run.State = state
	return run, nil
}

// check returns an error that is fs.ErrNotExist unless the name is that of a run.
func (s *Shelf) check(name string) error {
	if !fs.ValidPath(name) || !s.isRun(name) {
		return fmt.Errorf("there is no run %q in %s: %w", name, s.dir, fs.ErrNotExist)
	}
	return nil
}

// Past returns the runs beside a run that have a report and the same study and title, the oldest first: the
// newest ones of many, as far as they may be read.
func (s *Shelf) Past(name string) (runs []lab.PastRun, left lab.LeftOut, err error) {
	if err := s.check(name); err != nil {
		return nil, left, err
	}
	files := &allowance{FS: s.files, left: s.mostBytes}
	about, err := s.past(files, name)
	if err != nil {
		return nil, left, err
	}
	names, more, err := s.folders(path.Dir(name))
	if err != nil {
		return nil, left, fmt.Errorf("list the runs beside %s: %w", name, err)
	}
	left.Unseen = more
	slices.Reverse(names) // they begin with their time
	tried := names[:min(len(names), mostTried)]
	for i, one := range tried {
		if len(runs) == mostPast {
			break
		}
		if files.left <= 0 {
			left.Unread = len(tried) - i
			break
		}
		run, err := s.past(files, path.Join(path.Dir(name), one))
		if err == nil && run.Study == about.Study && run.Title == about.Title {
			runs = append(runs, run)
		} // the list says what is wrong with others
	}
	if len(runs) < mostPast && len(tried) < len(names) {
		left.Unseen = true
	}
	slices.SortStableFunc(runs, func(a, b lab.PastRun) int { return a.Created.Compare(b.Created) })
	return runs, left, nil
}

// past reads what a history needs of a run.
func (s *Shelf) past(files fs.FS, name string) (lab.PastRun, error) {
	run := lab.PastRun{Name: name}
	var study struct{ Name, Title string }
	var answer lab.Conclusion
	err := errors.Join(head(files, name, planFile, map[string]any{"created": &run.Created, "study": &study}),
		head(files, name, AnalysisFile, map[string]any{"answer": &answer, "environment": &run.Environment,
			"comparisons": &run.Comparisons}))
	err = s.unreported(name, err)
	run.Study, run.Title, run.Headline = study.Name, study.Title, answer.Headline
	return run, err
}

// Report returns the report of a run as it is.
func (s *Shelf) Report(name string) ([]byte, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	data, err := read(s.files, name, ReportFile, mostReport)
	return data, s.unreported(name, err)
}

// Analysis returns what was concluded from a run.
func (s *Shelf) Analysis(name string) (concluded lab.Analysis, err error) {
	if err := s.check(name); err != nil {
		return concluded, err
	}
	err = s.unreported(name, document(s.files, name, AnalysisFile, mostReport, &concluded))
	if err == nil && concluded.Schema != lab.AnalysisSchema {
		err = fmt.Errorf("%s has schema %q, this cleave reads %q: type: cleave report %s",
			path.Join(name, AnalysisFile), concluded.Schema, lab.AnalysisSchema, path.Join(s.dir, name))
	}
	return concluded, err
}

// unreported adds to the error of a file that is not there how the run gets its report.
func (s *Shelf) unreported(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s has no report yet: type: cleave report %s: %w", name, path.Join(s.dir, name),
		fs.ErrNotExist)
}

// notes reads the notes of a run.
func notes(files fs.FS, name string) (lab.Notes, error) {
	var notes lab.Notes
	err := document(files, name, notesFile, mostNotes, &notes)
	if errors.Is(err, fs.ErrNotExist) {
		return lab.Notes{}, nil
	}
	if err == nil && checkNotes(notes) != nil {
		err = fmt.Errorf("%s is damaged: %w", path.Join(name, notesFile), checkNotes(notes))
	}
	if err != nil {
		return lab.Notes{}, err
	}
	return notes, nil
}

// checkNotes refuses more than a list can show.
func checkNotes(n lab.Notes) error {
	switch {
	case n.Schema != lab.NotesSchema:
		return fmt.Errorf("it has schema %q, this cleave reads %q", n.Schema, lab.NotesSchema)
	case len(n.Tags) > mostTags:
		return fmt.Errorf("a run has %d tags, at most %d are kept", len(n.Tags), mostTags)
	case len(n.Text) > longestNote:
		return fmt.Errorf("the note has %d bytes, at most %d are kept", len(n.Text), longestNote)
	}
	for _, tag := range n.Tags {
		if len(tag) > longestTag {
			return fmt.Errorf("the tag that begins with %.20q has %d bytes, at most %d are kept", tag, len(tag),
				longestTag)
		}
	}
	return nil
}

// WriteNotes replaces the notes of a run.
func (s *Shelf) WriteNotes(name string, notes lab.Notes) error {
	if err := errors.Join(s.check(name), checkNotes(notes)); err != nil {
		return err
	}
	data, err := marshal(notes)
	if err != nil {
		return err
	}
	place := path.Join(name, notesFile)
	draft := path.Join(name, ".notes-"+rand.Text())
	file, err := s.root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("keep the notes of %s: %w", name, err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = s.root.Rename(draft, place)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the notes of %s: %w", name, err), s.root.Remove(draft))
	}
	return nil
}
