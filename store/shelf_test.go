package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// shelf returns a shelf with one run for each of hours: its plan was created so many hours after plan's time.
func shelf(t *testing.T, hours ...int) (*Shelf, []*Folder) {
	t.Helper()
	root := t.TempDir()
	var folders []*Folder
	for _, h := range hours {
		p := plan()
		p.Created = p.Created.Add(time.Duration(h) * time.Hour)
		p.Study.Title = "A title"
		p.Study.Question = "Which?"
		p.Study.Variants = []lab.Variant{{Name: "a"}, {Name: "a-twin", TwinOf: "a"}, {Name: "b"}}
		f, err := Create(root, p, lab.Environment{"cpu_model": {Value: "Chip"}, "cores_online": {Value: 2},
			"build_commit": {Value: "0123456789"}, "kernel": {Unavailable: "no"}})
		testset.Must(t, err)
		folders = append(folders, f)
	}
	s, err := OpenShelf(root)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, s.Close()) })
	return s, folders
}

// answered is an analysis that is cut off behind the members that the list shows.
const answered = `{"schema": "cleave-analysis/2", "study": "rego2021",
	"answer": {"sentence": "b is slower.", "headline": {"title": "CPU", "baseline": "a",
		"bars": [{"label": "b", "metric": "cpu", "ratio": 1.5, "low": 1.4, "high": 1.6}]}},
	"trials": {"planned": 6, "valid": 5}, "results": ["is not read for the list`

func TestAShelfListsRunsNewestFirst(t *testing.T) {
	s, folders := shelf(t, 1, 3, 2)
	testset.Must(t, folders[1].Write(AnalysisFile, []byte(answered)))
	testset.Must(t, folders[2].Lock())
	runs, _, err := s.Runs()
	if err != nil || len(runs) != 3 {
		t.Fatalf("Runs = %+v, %v; want three", runs, err)
	}
	low, high := 1.4, 1.6
	want := lab.ListedRun{Name: "rego2021/20260102T060405Z-7", State: lab.RunReported,
		Created: time.Date(2026, 1, 2, 6, 4, 5, 0, time.UTC), Study: "rego2021", Title: "A title",
		Question: "Which?", Variants: []string{"a", "b"}, Sentence: "b is slower.", Valid: 5, Planned: 6,
		Headline: &lab.Headline{Title: "CPU", Baseline: "a", Bars: []lab.Bar{{Label: "b", Metric: "cpu",
			Ratio: lab.Ratio{Ratio: 1.5, Low: &low, High: &high}}}},
		Host: "Chip, 2 cores", Commit: "0123456789"}
	if !reflect.DeepEqual(runs[0], want) {
		t.Errorf("the newest is %+v\nwant %+v", runs[0], want)
	}
	if runs[1].State != lab.RunPlaying || runs[2].State != lab.RunStopped {
		t.Errorf("states are %s and %s, want playing and stopped", runs[1].State, runs[2].State)
	}
	s.maxRuns = 2
	if newest, left, err := s.Runs(); err != nil || len(newest) != 2 || left.Beyond != 1 ||
		newest[1].Name != runs[1].Name {
		t.Errorf("three runs with a limit of two: %+v, left out %+v, %v", newest, left, err)
	}
	folders[2].Unlock()
	if run, err := s.Run(runs[1].Name); err != nil || run.State != lab.RunStopped {
		t.Errorf("after its end a run is %s, %v", run.State, err)
	}
}

func TestNotesAreKeptInTheFolder(t *testing.T) {
	s, folders := shelf(t, 1)
	const name = "rego2021/latest"
	notes := lab.Notes{Schema: lab.NotesSchema, Tags: []string{"base", "\u202e<b>"}, Text: "two\nlines"}
	testset.Must(t, s.WriteNotes(name, notes))
	run, err := s.Run(name)
	if err != nil || !reflect.DeepEqual(run.Notes, notes) || run.Damaged != "" {
		t.Errorf("the notes are %+v, %v, %q; want %+v", run.Notes, err, run.Damaged, notes)
	}
	written, err := os.ReadFile(folders[0].Path(notesFile))
	testset.Must(t, err)
	if err := schema.Validate("notes", written); err != nil {
		t.Error(err)
	}
	// JSON takes six bytes for each of these characters.
	largest := lab.Notes{Schema: lab.NotesSchema, Text: strings.Repeat("<", longestNote)}
	for range maxTags {
		largest.Tags = append(largest.Tags, strings.Repeat("&", longestTag))
	}
	testset.Must(t, s.WriteNotes(name, largest))
	if run, err := s.Run(name); err != nil || !reflect.DeepEqual(run.Notes, largest) {
		t.Errorf("the largest notes come back with %d bytes, %v, %q", len(run.Notes.Text), err, run.Damaged)
	}
	testset.Must(t, s.WriteNotes(name, notes))
	many := lab.Notes{Schema: lab.NotesSchema, Tags: make([]string, maxTags+1)}
	long := lab.Notes{Schema: lab.NotesSchema, Text: strings.Repeat("x", longestNote+1)}
	tag := lab.Notes{Schema: lab.NotesSchema, Tags: []string{strings.Repeat("x", longestTag+1)}}
	for _, refused := range []lab.Notes{many, long, tag, {}} {
		if err := s.WriteNotes(name, refused); err == nil {
			t.Errorf("%.80v was kept", refused)
		}
	}
	if again, _ := os.ReadFile(folders[0].Path(notesFile)); string(again) != string(written) {
		t.Error("refused notes have changed the file")
	}
	drafts, err := filepath.Glob(folders[0].Path(".notes-*"))
	if err != nil || len(drafts) > 0 {
		t.Errorf("left behind: %v, %v", drafts, err)
	}
}

// TestNothingOutsideAShelfIsReached checks that neither names nor links lead outside.
func TestNothingOutsideAShelfIsReached(t *testing.T) {
	s, folders := shelf(t, 1)
	outside, err := Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	testset.Must(t, outside.Write(ReportFile, []byte("secret")))
	root := filepath.Dir(filepath.Dir(folders[0].Dir()))
	testset.Must(t, os.Symlink(outside.Dir(), filepath.Join(root, "link")))
	escape, err := filepath.Rel(root, outside.Dir())
	testset.Must(t, err)
	for _, name := range []string{"link", escape, outside.Dir(), "rego2021/../rego2021/latest", "", ".",
		"rego2021"} {
		for what, err := range map[string]error{"Run": errorOf(s.Run(name)), "Report": errorOf(s.Report(name)),
			"Analysis":   errorOf(s.Analysis(name)),
			"WriteNotes": s.WriteNotes(name, lab.Notes{Schema: lab.NotesSchema})} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s(%q) = %v, want that there is no such run", what, name, err)
			}
		}
	}
	for _, file := range []string{ReportFile, AnalysisFile, notesFile, environmentFile} {
		_ = os.Remove(folders[0].Path(file))
		testset.Must(t, os.Symlink(outside.Path(ReportFile), folders[0].Path(file)))
	}
	if page, err := s.Report("rego2021/latest"); err == nil {
		t.Errorf("a link leads to %q", page)
	}
	if runs, _, err := s.Runs(); err != nil || len(runs) != 1 || !strings.Contains(runs[0].Damaged, "escapes") {
		t.Errorf("Runs = %+v, %v; want one that is damaged", runs, err)
	}
	testset.Must(t, s.WriteNotes("rego2021/latest", lab.Notes{Schema: lab.NotesSchema}))
	if left, err := os.ReadFile(outside.Path(ReportFile)); err != nil || string(left) != "secret" {
		t.Errorf("notes were written through a link: %q, %v", left, err)
	}
}

// errorOf returns the error of a call with one other result.
func errorOf[T any](_ T, err error) error { return err }

// TestADamagedRunIsListed checks that a run with a damaged file, or a pipe in its place, is in the list with
// the error. A lock file with any content is no damage: the kernel knows who holds the lock.
func TestADamagedRunIsListed(t *testing.T) {
	for name, text := range map[string]string{
		planFile: "[]", AnalysisFile: `{"answer": 1}`, notesFile: `{"schema":"cleave-notes/9"}`,
		environmentFile: "{", lockFile: "999999999\n"} {
		s, folders := shelf(t, 1)
		testset.Must(t, folders[0].Write(name, []byte(text)))
		runs, _, err := s.Runs()
		if err != nil || len(runs) != 1 || name != lockFile && !strings.Contains(runs[0].Damaged, name) {
			t.Errorf("%s: Runs = %+v, %v", name, runs, err)
		}
		if name == planFile { // a folder whose plan is a pipe is no run
			continue
		}
		_ = os.Remove(folders[0].Path(name))
		testset.Must(t, syscall.Mkfifo(folders[0].Path(name), 0o600))
		if runs, _, err := s.Runs(); err != nil || len(runs) != 1 ||
			name != lockFile && !strings.Contains(runs[0].Damaged, "pipe") {
			t.Errorf("%s, a pipe: Runs = %+v, %v", name, runs, err)
		}
	}
}

func TestOneRunIsNoShelf(t *testing.T) {
	_, folders := shelf(t, 1)
	if _, err := OpenShelf(folders[0].Dir()); err == nil || !strings.Contains(err.Error(), "folder above") {
		t.Errorf("OpenShelf = %v", err)
	}
	study, err := OpenShelf(filepath.Dir(folders[0].Dir()))
	testset.Must(t, err)
	defer study.Close()
	if runs, _, err := study.Runs(); err != nil || len(runs) != 1 || strings.Contains(runs[0].Name, "/") {
		t.Errorf("Runs of one study = %+v, %v", runs, err)
	}
}

// TestTheNewestRunsOfAllStudiesAreRead checks that a short list has the newest runs, whatever the names of
// their studies.
func TestTheNewestRunsOfAllStudiesAreRead(t *testing.T) {
	s, folders := shelf(t, 1, 3, 2)
	early := filepath.Join(filepath.Dir(filepath.Dir(folders[1].Dir())), "a-study")
	testset.Must(t, os.Mkdir(early, 0o700))
	newest := filepath.Base(folders[1].Dir())
	testset.Must(t, os.Rename(folders[1].Dir(), filepath.Join(early, newest)))
	s.maxRuns = 2
	runs, left, err := s.Runs()
	if err != nil || len(runs) != 2 || left.Beyond != 1 || runs[0].Name != "a-study/"+newest {
		t.Errorf("three runs with a limit of two: %+v, left out %+v, %v; want the newest first", runs, left, err)
	}
}

// TestThePastOfAStudy checks that a history has the runs with a report and the same title, the oldest first.
func TestThePastOfAStudy(t *testing.T) {
	s, folders := shelf(t, 1, 4, 2, 3)
	const text = `{"schema": "cleave-analysis/2", "answer": {"headline": {"title": "CPU", "bars": [{"label": "b"}]}},
		"environment": {"kernel": {"value": "6.1"}}, "trials": {"planned": 6}, "results": [{"metric": "cpu"}],
		"comparisons": [{"metric": "cpu", "point": {"name": "p"}, "variant": "b", "baseline": "a", "ratio": 1.5}],
		"claims": ["is not read`
	for _, f := range folders[:3] {
		testset.Must(t, f.Write(AnalysisFile, []byte(text)))
	}
	other := folders[2].Path("plan.json")
	plan, err := os.ReadFile(other)
	if err == nil {
		err = os.WriteFile(other, []byte(strings.ReplaceAll(string(plan), "A title", "Another")), 0o600)
	}
	testset.Must(t, err)
	past, left, err := s.Past("rego2021/20260102T070405Z-7")
	if err != nil || left != (lab.LeftOut{}) || len(past) != 2 || !past[0].Created.Before(past[1].Created) {
		t.Fatalf("Past = %+v, %v; want two runs", past, err)
	}
	run := past[1]
	if run.Name != "rego2021/20260102T070405Z-7" || run.Headline.Title != "CPU" || len(run.Comparisons) != 1 ||
		run.Comparisons[0].Ratio.Ratio != 1.5 || run.Environment["kernel"].Value != "6.1" {
		t.Errorf("the newest is %+v", run)
	}
	if _, _, err := s.Past("rego2021/20260102T060405Z-7"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasSuffix(err.Error(), "has no report yet: make it: cleave report "+folders[3].Dir()) {
		t.Errorf("Past of a run without a report: %v", err)
	}
	if _, _, err := s.Past("../rego2021"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside of the folder: %v", err)
	}
	s.maxBytes = 1
	if past, left, err := s.Past(run.Name); err != nil || len(past) != 0 || left != (lab.LeftOut{Unread: 4}) {
		t.Errorf("with a limit of one byte: %+v, left out %+v, %v", past, left, err)
	}
	s.maxEntries = 4 // four runs and a link
	if _, left, err := s.Past(run.Name); err != nil || !left.Unseen {
		t.Errorf("with a limit of four entries a history left out %+v, %v", left, err)
	}
}

// TestProgressIsReadInWholeLines checks that a reader gets whole lines from its offset, and nothing from
// pipes and links.
func TestProgressIsReadInWholeLines(t *testing.T) {
	s, folders := shelf(t, 1)
	const name = "rego2021/latest"
	read := func(from int64, want string, wantNext int64) {
		t.Helper()
		if lines, next, err := s.Progress(name, from); err != nil || string(lines) != want || next != wantNext {
			t.Errorf("from %d: %d bytes %.40q up to %d, %v; want %.40q up to %d", from, len(lines), lines, next, err,
				want, wantNext)
		}
	}
	read(-1, "", 0)
	file, err := folders[0].Progress()
	testset.Must(t, err)
	_, err = file.WriteString("one\ntwo\nhal")
	testset.Must(t, err)
	read(-1, "one\ntwo\n", 8)
	read(4, "two\n", 8)
	read(8, "", 8)
	read(99, "one\ntwo\n", 8)
	const long = 2 * maxProgress
	_, err = file.WriteString(strings.Repeat("x", long-1) + "\nlast\n")
	testset.Must(t, err)
	read(-1, "last\n", 8+3+long+5)
	read(8, "", 8+maxProgress) // bytes without a line break are skipped
	read(8+maxProgress, "", 8+2*maxProgress)
	read(8+2*maxProgress, "last\n", 8+3+long+5) // the rest of the long line, too
	testset.Must(t, errors.Join(file.Close(), os.Remove(file.Name()), syscall.Mkfifo(file.Name(), 0o600)))
	if _, err := folders[0].Progress(); err == nil {
		t.Error("progress is written to a pipe")
	}
	if _, _, err := s.Progress(name, -1); err == nil {
		t.Error("progress is read from a pipe")
	}
	testset.Must(t, errors.Join(os.Remove(file.Name()), os.Symlink("/etc/passwd", file.Name())))
	if _, err := folders[0].Progress(); err == nil {
		t.Error("progress is written through a link")
	}
	if lines, _, err := s.Progress(name, -1); err == nil {
		t.Errorf("progress is read through a link: %s", lines)
	}
}
