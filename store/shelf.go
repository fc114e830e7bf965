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
	"syscall"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/shell"
)

// Names of derived files in a result folder, and of the user's notes.
const (
	AnalysisFile = "analysis.json"
	ReportFile   = "report.html"
	notesFile    = "notes.json"
)

// Limits on reading folders of runs, which may be a stranger's.
const (
	maxRuns     = 10_000      // in a list
	maxHead     = 4 << 20     // bytes read from one file for a list
	maxBytes    = 256 << 20   // bytes read for a list, after which no further file is opened
	maxFolders  = 4 * maxRuns // searched for runs
	maxEntries  = 2 * maxRuns // read from one folder
	maxReport   = 32 << 20    // bytes of a report, an analysis or the record of one trial
	maxNotes    = 128 << 10   // bytes; JSON may encode one byte of text as six
	maxTags     = 20          // of a run
	longestTag  = 50          // bytes
	longestNote = 10_000      // bytes
	longestText = 1_000       // bytes of a text in a list
	maxBars     = 12          // of a headline in a list
	maxVariants = 24          // of a run in a list
	maxPast     = 100         // runs of a history
	maxTried    = 1_000       // folders that are searched for a history
)

// Shelf is a folder of result folders: of all studies, or of one. It reads nothing outside of the folder, not
// even through links, and writes only notes.
type Shelf struct {
	dir   string
	root  *os.Root
	files fs.FS // the files in root, each up to maxDocument

	// The limits of the same names; tests lower them.
	maxRuns, maxFolders, maxEntries int
	maxBytes                        int64
}

// OpenShelf opens a folder of result folders.
func OpenShelf(dir string) (*Shelf, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the results folder: %w: name one, such as results", err)
	}
	s := &Shelf{dir: dir, maxRuns: maxRuns, maxFolders: maxFolders, maxEntries: maxEntries,
		maxBytes: maxBytes, root: root, files: inputfile.Within(root, maxDocument)}
	if is, _ := s.isRun("."); is {
		return nil, errors.Join(fmt.Errorf("%s is a single run: name the folder above it", dir), s.Close())
	}
	return s, nil
}

// Close closes the folder.
func (s *Shelf) Close() error { return s.root.Close() }

// names returns the names of all runs: those in the folder itself, and those in its subfolders, which hold
// one study each. unseen reports whether it left out folders because of a limit, or because they cannot
// be read.
func (s *Shelf) names() (all []string, unseen bool, err error) {
	top, unseen, err := s.folders(".")
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.dir, err)
	}
	searched := 0 // folders
	for _, name := range top {
		if searched++; searched > s.maxFolders {
			return all, true, nil
		}
		is, err := s.isRun(name)
		if is {
			all = append(all, name)
			continue
		}
		unseen = unseen || err != nil
		inside, more, err := s.folders(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the folder was removed meanwhile
		}
		more = more || err != nil // one that cannot be read, such as lost+found, hides no others
		for _, run := range inside[:min(len(inside), s.maxFolders-searched)] {
			run = path.Join(name, run)
			is, err := s.isRun(run)
			if is {
				all = append(all, run)
			}
			unseen = unseen || err != nil
		}
		searched, unseen = searched+len(inside), unseen || more
	}
	return all, unseen || searched > s.maxFolders, nil
}

// folders returns the names of the folders in a folder. Links to folders are not among them. more is as in
// entriesOf.
func (s *Shelf) folders(name string) (names []string, more bool, err error) {
	return s.entriesOf(name, fs.FileMode.IsDir)
}

// entriesOf returns the names of a folder's entries whose mode is wanted, sorted, without links. more reports
// whether the folder has more entries than maxEntries.
func (s *Shelf) entriesOf(name string, wanted func(fs.FileMode) bool) (names []string, more bool, err error) {
	folder, err := s.root.OpenFile(name, syscall.O_RDONLY|syscall.O_DIRECTORY, 0) // a pipe would block
	if err != nil {
		return nil, false, err
	}
	entries, err := folder.ReadDir(s.maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if more = len(entries) > s.maxEntries; more {
		entries = entries[:s.maxEntries]
	}
	for _, entry := range entries {
		if wanted(entry.Type()) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, more, errors.Join(err, folder.Close())
}

// isRun reports whether a folder is a run: whether it has a plan. It returns an error if that is unknown.
func (s *Shelf) isRun(name string) (bool, error) {
	info, err := s.root.Stat(path.Join(name, planFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// Run returns one run.
func (s *Shelf) Run(name string) (lab.ListedRun, error) {
	if err := s.check(name); err != nil {
		return lab.ListedRun{}, err
	}
	return s.listedRun(s.files, name), nil
}

// check returns an error that wraps fs.ErrNotExist unless there is a run with that name.
func (s *Shelf) check(name string) error {
	if fs.ValidPath(name) {
		if is, _ := s.isRun(name); is {
			return nil
		}
	}
	return fmt.Errorf("there is no run %q in %s: %w", name, s.dir, fs.ErrNotExist)
}

// Past returns the history of a run: the runs in the same folder that have a report and the same study and
// title, the oldest first. It returns the newest maxPast of them; the run itself is missing if it is older.
// left counts the runs that the limits on folders and bytes left out. It does not count runs older than the
// newest maxPast, which are not read.
func (s *Shelf) Past(name string) (runs []lab.PastRun, left lab.LeftOut, err error) {
	if err := s.check(name); err != nil {
		return nil, left, err
	}
	files := &allowance{FS: s.files, left: s.maxBytes}
	this, err := s.past(files, name)
	if err != nil {
		return nil, left, err
	}
	names, more, err := s.folders(path.Dir(name))
	if err != nil {
		return nil, left, fmt.Errorf("list the runs beside %s: %w", name, err)
	}
	left.Unseen = more
	slices.Reverse(names) // the newest first: a name begins with the time of its run
	tried := names[:min(len(names), maxTried)]
	for i, one := range tried {
		if len(runs) == maxPast {
			break
		}
		if files.left <= 0 {
			left.Unread = len(tried) - i
			break
		}
		run, err := s.past(files, path.Join(path.Dir(name), one))
		if err == nil && run.Study == this.Study && run.Title == this.Title {
			runs = append(runs, run)
		} // errors of other runs are shown in the list of Runs
	}
	if len(runs) < maxPast && len(tried) < len(names) {
		left.Unseen = true
	}
	slices.SortStableFunc(runs, func(a, b lab.PastRun) int { return a.Created.Compare(b.Created) })
	return runs, left, nil
}

// past reads the entry of a run in a history.
func (s *Shelf) past(files fs.FS, name string) (lab.PastRun, error) {
	run := lab.PastRun{Name: name}
	var study struct{ Name, Title string }
	var answer lab.Conclusion
	err := errors.Join(decodeMembers(files, name, planFile, members{"created": &run.Created, "study": &study}),
		decodeMembers(files, name, AnalysisFile, members{"answer": &answer, "environment": &run.Environment,
			"comparisons": &run.Comparisons}))
	err = s.explainMissing(name, err)
	run.Study = study.Name
	run.Title = study.Title
	run.Headline = answer.Headline
	return run, err
}

// Report returns the HTML report of a run.
func (s *Shelf) Report(name string) ([]byte, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	data, err := read(s.files, name, ReportFile, maxReport)
	return data, s.explainMissing(name, err)
}

// Analysis returns the analysis of a run.
func (s *Shelf) Analysis(name string) (analysis lab.Analysis, err error) {
	if err := s.check(name); err != nil {
		return analysis, err
	}
	err = s.explainMissing(name, decodeFile(s.files, name, AnalysisFile, maxReport, &analysis))
	if err == nil && analysis.Schema != lab.AnalysisSchema {
		err = fmt.Errorf("%s has schema %q, this cleave reads %q: make its report anew: %s",
			path.Join(name, AnalysisFile), analysis.Schema, lab.AnalysisSchema, s.reportCommand(name))
	}
	return analysis, err
}

// explainMissing replaces the error of a missing file by one that names the command that writes the report.
// It returns other errors unchanged.
func (s *Shelf) explainMissing(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %s has no report yet: make it: %s", fs.ErrNotExist, name, s.reportCommand(name))
}

// reportCommand returns the command that makes the report of a run.
func (s *Shelf) reportCommand(name string) string {
	return shell.Quote("cleave", "report", path.Join(s.dir, name))
}

// notes returns the notes of a run; empty ones if it has no file of notes.
func notes(files fs.FS, name string) (lab.Notes, error) {
	var notes lab.Notes
	err := decodeFile(files, name, notesFile, maxNotes, &notes)
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

// checkNotes returns an error if notes are too long, or have another schema.
func checkNotes(n lab.Notes) error {
	switch {
	case n.Schema != lab.NotesSchema:
		return fmt.Errorf("it has schema %q, this cleave reads %q", n.Schema, lab.NotesSchema)
	case len(n.Tags) > maxTags:
		return fmt.Errorf("a run has %d tags, at most %d are kept", len(n.Tags), maxTags)
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

// WriteNotes replaces the notes of a run. It writes a draft in the folder and renames it, so that readers
// never see half of the notes.
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
