package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/lab"
)

// Limits on reading the trials of a run, which may be a stranger's.
const (
	maxTrials = 1_000    // trials in a list
	maxLogs   = 40       // logs of a trial
	maxLog    = 32 << 10 // bytes read from the end of a log
)

// Trials returns the list of a run's trials, in playing order, and counts the trials that the list lacks.
func (s *Shelf) Trials(run string) (trials []lab.ListedTrial, left lab.LeftOut, err error) {
	if err := s.check(run); err != nil {
		return nil, left, err
	}
	names, more, err := s.folders(path.Join(run, trialsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without that folder the list is empty
		return nil, left, fmt.Errorf("list the trials of %s: %w", run, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { // trials are in folders such as 0012 and 0012-1
		return strings.Trim(name, "0123456789-") != ""
	})
	listed := names[:min(len(names), maxTrials)]
	left.Beyond = len(names) - len(listed)
	left.Unseen = more
	files := &allowance{FS: s.files, left: s.maxBytes}
	for i, name := range listed {
		if files.left <= 0 {
			left.Unread = len(listed) - i
			break
		}
		trials = append(trials, listedTrial(files, run, name))
	}
	slices.SortStableFunc(trials, func(a, b lab.ListedTrial) int { return a.Started.Compare(b.Started) })
	return trials, left, nil
}

// listedTrial returns the entry of a trial in a list. It reads only the beginning of trial.json.
func listedTrial(files fs.FS, run, name string) lab.ListedTrial {
	trial := lab.ListedTrial{Name: name}
	var point lab.Point
	place := path.Join(run, trialsDir, name)
	err := decodeMembers(files, place, trialFile, members{"number": &trial.Number, "attempt": &trial.Attempt,
		"block": &trial.Block, "variant": &trial.Variant, "point": &point, "started": &trial.Started,
		"valid": &trial.Valid, "operations": &trial.Operations, "elapsed_seconds": &trial.ElapsedSeconds})
	if err == nil && !trial.Valid { // only invalid trials have a reason; others would be read to the end
		err = decodeMembers(files, place, trialFile, members{"reason": &trial.Reason})
	}
	if err != nil {
		trial.Damaged = clip(err.Error())
	}
	trial.Variant = clip(trial.Variant)
	trial.Point = clip(point.Name)
	trial.Reason = clip(trial.Reason)
	return trial
}

// Trial returns the record of a trial, by the name of its folder.
func (s *Shelf) Trial(run, name string) (trial lab.Trial, err error) {
	if err := s.checkTrial(run, name); err != nil {
		return trial, err
	}
	err = decodeFile(s.files, path.Join(run, trialsDir, name), trialFile, maxReport, &trial)
	if err == nil && trial.Schema != lab.TrialSchema {
		err = fmt.Errorf("trial %s of %s has schema %q, this cleave reads %q", name, run, trial.Schema,
			lab.TrialSchema)
	}
	return trial, err
}

// checkTrial returns an error that wraps fs.ErrNotExist unless the run has a trial with that name.
func (s *Shelf) checkTrial(run, name string) error {
	if err := s.check(run); err != nil {
		return err
	}
	if fs.ValidPath(name) && !strings.Contains(name, "/") {
		info, err := s.root.Stat(path.Join(run, trialsDir, name, trialFile))
		if err == nil && info.Mode().IsRegular() {
			return nil
		}
	}
	return fmt.Errorf("there is no trial %q of %s: %w", name, run, fs.ErrNotExist)
}

// Logs returns the ends of the logs of a trial, sorted by unit, and the number of logs that it left out.
func (s *Shelf) Logs(run, name string) (logs []lab.LogEnd, more int, err error) {
	if err := s.checkTrial(run, name); err != nil {
		return nil, 0, err
	}
	place := path.Join(run, trialsDir, name, logsDir)
	names, _, err := s.entriesOf(place, fs.FileMode.IsRegular) // files beyond maxEntries are not counted
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list the logs of trial %s of %s: %w", name, run, err)
	}
	listed := names[:min(len(names), maxLogs)]
	for _, file := range listed {
		end, err := s.logEnd(path.Join(place, file))
		if err != nil {
			return nil, 0, err
		}
		end.Unit = strings.TrimSuffix(file, ".log")
		logs = append(logs, end)
	}
	return logs, len(names) - len(listed), nil
}

// logEnd reads the last lines of a log.
func (s *Shelf) logEnd(place string) (end lab.LogEnd, err error) {
	file, size, err := s.openRegular(place)
	if err != nil {
		return end, fmt.Errorf("read %s: %w", place, err)
	}
	defer func() { _ = file.Close() }() // only read
	end.Cut = max(0, size-maxLog)
	text, err := io.ReadAll(io.NewSectionReader(file, end.Cut, maxLog))
	if err != nil {
		return end, fmt.Errorf("read %s: %w", place, err)
	}
	if at := bytes.IndexByte(text, '\n'); end.Cut > 0 && at >= 0 { // drop the rest of a cut line
		end.Cut += int64(at) + 1
		text = text[at+1:]
	}
	end.Text = string(text)
	return end, nil
}

// openRegular opens a regular file and returns its present size; the file may grow. It refuses other files,
// and does not wait for the writer of a pipe.
func (s *Shelf) openRegular(place string) (*os.File, int64, error) {
	file, err := s.root.OpenFile(place, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Metrics returns the metrics in which the variants of a run are compared.
func (s *Shelf) Metrics(run string) ([]lab.Metric, error) {
	if err := s.check(run); err != nil {
		return nil, err
	}
	var study struct{ Metrics []lab.Metric }
	err := decodeMembers(s.files, run, planFile, members{"study": &study})
	return lab.Study{Metrics: study.Metrics}.AllMetrics(), err
}
