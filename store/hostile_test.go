package store

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestOnlyRegularFilesAreRead checks that pipes, devices and huge files are refused in the place of
// documents.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	device := func(path string) error { return os.Symlink("/dev/zero", path) }
	large := func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, maxDocument+1)
	}
	read := map[string]func(*Folder) error{
		planFile:        func(f *Folder) error { _, err := f.Plan(); return err },
		environmentFile: func(f *Folder) error { _, err := f.Environment(); return err },
		filepath.Join(trialsDir, "0001", trialFile): func(f *Folder) error { _, err := f.Trials(); return err },
	}
	for name, attempt := range read {
		for want, put := range map[string]func(string) error{"is a pipe": pipe, "is a device": device,
			"bytes, at most": large} {
			f := create(t)
			testset.Must(t, f.Save(trial(1, 1, true), nil))
			testset.Must(t, os.Remove(f.Path(name)))
			testset.Must(t, put(f.Path(name)))
			if err := attempt(f); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want it to say %q", name, err, want)
			}
		}
	}
	f := create(t)
	testset.Must(t, os.Remove(f.Path(planFile)))
	testset.Must(t, pipe(f.Path(planFile)))
	if _, err := Open(f.Dir()); err == nil || !strings.Contains(err.Error(), "is no result folder") {
		t.Errorf("a folder with a pipe for its plan: %v", err)
	}
}

// TestAPipeIsNoFolder checks that lists do not wait for a writer of a pipe in the place of a folder.
func TestAPipeIsNoFolder(t *testing.T) {
	s, folders := shelf(t, 1)
	testset.Must(t, folders[0].Save(trial(1, 1, true), nil))
	run := filepath.Join("rego2021", filepath.Base(folders[0].Dir()))
	logs := folders[0].Path(filepath.Join(trialsDir, "0001", "logs"))
	testset.Must(t, os.RemoveAll(logs))
	testset.Must(t, syscall.Mkfifo(logs, 0o600))
	ended := make(chan error, 1)
	go func() { _, _, err := s.Logs(run, "0001"); ended <- err }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "list the logs of trial 0001") {
			t.Errorf("a pipe has logs: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("reading the logs waits for ever")
	}
}

// Reading a file may allocate memoryPerByte bytes for each of its bytes, and memoryOfRead in addition. This
// catches memory that grows faster than the file.
const memoryPerByte, memoryOfRead = 2000, 1 << 20

// checkMemory calls read, which reads data, and fails the test if it allocates more memory than it may.
func checkMemory(t *testing.T, data []byte, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(data)*memoryPerByte+memoryOfRead) {
		t.Errorf("%d bytes made it allocate %d", len(data), used)
	}
}

// FuzzPlan checks that any plan.json is read, or refused with its name, and that a plan that was read stays
// the same when it is written and read again.
func FuzzPlan(f *testing.F) {
	fine, err := marshal(plan())
	testset.Must(f, err)
	for _, text := range []string{string(fine), "", "{", "null", "[]", `{"schema":"cleave-plan/9"}`,
		`{"schema":"cleave-plan/1","trials":[{"number":-1}]}`,
		`{"schema":"cleave-plan/1","created":"0000-00-00"}`,
		`{"schema":"cleave-plan/1","study":{"design":{"blocks":1e99}}}`,
		`{"schema":"cleave-plan/1","study":{"points":[{"levels":{"rate":1e308}}]}}`,
		strings.Repeat(`{"study":`, 11000)} {
		f.Add([]byte(text))
	}
	folder := &Folder{dir: f.TempDir()}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkMemory(t, data, func() {
			readTwice(t, folder, planFile, data, func() (any, error) { return folder.Plan() })
		})
	})
}

// FuzzTrial checks any trial.json as FuzzPlan checks any plan.json.
func FuzzTrial(f *testing.F) {
	whole := trial(1, 1, true)
	whole.Measures = map[string]float64{"completed_rate": 12.5}
	whole.Services = map[string]string{"database": "sqlite"}
	whole.Audit.Problems = []string{"order 7 is lost"}
	fine, err := marshal(whole)
	testset.Must(f, err)
	for _, text := range []string{string(fine), "", "{", "null", "[]", `{"number":1e99}`,
		`{"point":{"levels":{"":-0}}}`,
		`{"started":"9999-12-31T23:59:59.999999999+23:59"}`, `{"metered":{"units":[null,{"unit":{"pid":-1}}]}}`,
		`{"\u0000":"\ud800"}`} {
		f.Add([]byte(text))
	}
	folder := &Folder{dir: f.TempDir()}
	testset.Must(f, os.MkdirAll(folder.Path(filepath.Join(trialsDir, "0001")), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkMemory(t, data, func() {
			readTwice(t, folder, filepath.Join(trialsDir, "0001", trialFile), data, func() (any, error) {
				trials, err := folder.Trials()
				if err == nil && len(trials) != 1 {
					t.Fatalf("%d trials in one file", len(trials))
				}
				if err != nil {
					return lab.Trial{}, err
				}
				return trials[0], nil
			})
		})
	})
}

// FuzzListed checks that the texts of a run in a list are bounded whatever its files hold, and that the
// allowance counts all bytes that are read.
func FuzzListed(f *testing.F) {
	for _, text := range []string{"", "{", "null", "[]", `{"study":{"variants":[{"name":"a"}]},"created":1}`,
		`{"answer":{"headline":{"bars":[null,{"label":"b","ratio":1e308}]}},"trials":{"valid":-1}}`,
		`{"cpu_model":{"value":[{}]},"cores_online":{"value":null}}`, `{"number":1,"valid":false,"reason":"busy"}`,
		`{"schema":"cleave-notes/1","tags":[""],"text":"\ud800"}`, strings.Repeat(`{"answer":`, 11000),
		`{"number":2,"variant":"` + strings.Repeat("\u202e", 2*longestText) + `"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := &fstest.MapFile{Data: data}
		files := &allowance{FS: fstest.MapFS{"run/" + planFile: file, "run/" + environmentFile: file,
			"run/" + AnalysisFile: file, "run/" + notesFile: file,
			"run/" + trialsDir + "/1/" + trialFile: file}}
		checkMemory(t, data, func() {
			run := readListed(files, "run")
			trial := listedTrial(files, "run", "1")
			for _, text := range append(run.Variants, run.Study, run.Title, run.Question, run.Sentence, run.Commit,
				run.Damaged, trial.Variant, trial.Point, trial.Reason, trial.Damaged) {
				if len(text) > longestText+len(" ...") {
					t.Errorf("a text in a list has %d bytes", len(text))
				}
			}
		})
		// Five files are read, and the record of the trial twice.
		if most := int64(6 * len(data)); files.left > 0 || files.left < -most {
			t.Errorf("of %d bytes %d were counted, want %d at most", len(data), -files.left, most)
		}
	})
}

// TestAnObjectThatIsCutOffIsDamaged checks that decodeMembers refuses an object that ends too early, unless
// it has read all wanted members before.
func TestAnObjectThatIsCutOffIsDamaged(t *testing.T) {
	for text, damaged := range map[string]bool{
		`{"a": 1`: true, `{"a": 1,`: true, `{"a": 1]`: true, `{"a": 1}`: false, `{"a": 1, "b": 2`: false,
	} {
		var a, b int
		err := decodeMembers(fstest.MapFS{"run/x": {Data: []byte(text)}}, "run", "x", members{"a": &a, "b": &b})
		if damaged != (err != nil) || err != nil && !strings.Contains(err.Error(), "run/x is damaged") {
			t.Errorf("%s: %v, want an error: %t", text, err, damaged)
		}
	}
}

// TestARepeatedMemberHidesNoOther checks that decodeMembers goes on to the other wanted members.
func TestARepeatedMemberHidesNoOther(t *testing.T) {
	var a, b int
	text := `{"a": 1, "a": 2, "b": 3}`
	err := decodeMembers(fstest.MapFS{"run/x": {Data: []byte(text)}}, "run", "x", members{"a": &a, "b": &b})
	if err != nil || a != 1 || b != 3 {
		t.Errorf("a %d, b %d: %v; want 1 and 3", a, b, err)
	}
}

// readTwice reads a file with the content data, writes what was read, reads that again, and compares both.
func readTwice(t *testing.T, folder *Folder, name string, data []byte, read func() (any, error)) {
	t.Helper()
	testset.Must(t, os.WriteFile(folder.Path(name), data, 0o600))
	first, err := read()
	if err != nil {
		if !strings.Contains(err.Error(), folder.Path(name)) {
			t.Errorf("%v does not name the file", err)
		}
		return
	}
	written, err := marshal(first)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	testset.Must(t, os.WriteFile(folder.Path(name), written, 0o600))
	second, err := read()
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, written)
	}
	again, err := marshal(second)
	if err != nil || !bytes.Equal(written, again) {
		t.Errorf("read again, it changed: %v\n%s\n%s", err, written, again)
	}
}
