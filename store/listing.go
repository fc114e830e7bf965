package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/lab"
)

// Runs returns the runs, the newest first, and what it left out. What it has read it remembers, so that the
// next list goes on where this one had to end.
func (s *Shelf) Runs() (runs []lab.ListedRun, left lab.LeftOut, err error) {
	names, unseen, err := s.names()
	if err != nil {
		return nil, left, err
	}
	slices.SortStableFunc(names, func(a, b string) int { // the last part of each begins with its time
		return cmp.Compare(path.Base(b), path.Base(a))
	})
	listed := names[:min(len(names), s.most)]
	left = lab.LeftOut{Beyond: len(names) - len(listed), Unseen: unseen}
	held := heldLocks()
	files := &allowance{FS: s.files, left: s.mostBytes}
	for _, name := range listed {
		if run, is := s.listed(files, name, held); is {
			runs = append(runs, run)
		} else {
			left.Unread++
		}
	}
	s.forget(listed)
	slices.SortStableFunc(runs, func(a, b lab.ListedRun) int { return b.Created.Compare(a.Created) })
	return runs, left, nil
}

// forget drops what is remembered of runs that are not in the list any more.
func (s *Shelf) forget(listed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) <= len(listed) {
		return // at most as many as the list has: there is nothing to gain
	}
	kept := make(map[string]entry, len(listed))
	for _, name := range listed {
		if one, is := s.entries[name]; is {
			kept[name] = one
		}
	}
	s.entries = kept
}

// listed returns what a list shows of a run. It reads the files of the run only if one has changed. It
// returns false if they must be read and the allowance is spent.
func (s *Shelf) listed(files *allowance, name string, held locks) (run lab.ListedRun, is bool) {
	// The state comes first: a run that is reported while it is read must not lack its answer for good.
	state := s.state(name, held)
	stamps, sure := s.stamps(name) // before the files are read: who changes one then is noticed the next time
	s.mu.Lock()
	kept, known := s.entries[name]
	s.mu.Unlock()
	if !sure || !known || kept.stamps != stamps {
		if files.left <= 0 {
			return run, false
		}
		var lasting bool
		run, lasting = readListed(files, name)
		kept = entry{stamps, run}
		if sure && lasting {
			s.mu.Lock()
			s.entries[name] = kept
			s.mu.Unlock()
		}
	}
	kept.run.State = state
	return kept.run, true
}

// entry is a run in the list, with the stamps of its files when they were read. It has no state.
type entry struct {
	stamps stamps
	run    lab.ListedRun
}

// stamps are those of the files that the list is read from.
type stamps [4]stamp

// stamp tells one content of a file from another: Cleave replaces files, so that each has an inode of its
// own, and who writes into a file in its place changes its times. The stamp of a file that is not there is
// zero.
type stamp struct {
	inode             uint64
	size              int64
	modified, changed syscall.Timespec
}

// stamps returns those of the files of a run. sure reports whether all of them could be had.
func (s *Shelf) stamps(name string) (all stamps, sure bool) {
	run, err := s.root.OpenRoot(name)
	if err != nil {
		return all, false
	}
	defer func() { _ = run.Close() }() // only read
	for i, file := range []string{planFile, environmentFile, AnalysisFile, notesFile} {
		about, err := run.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return all, false
		}
		its, is := about.Sys().(*syscall.Stat_t)
		if !is {
			return all, false
		}
		all[i] = stamp{its.Ino, its.Size, its.Mtim, its.Ctim}
	}
	return all, true
}

// readListed reads what a list shows of a run, but for its state. It reads only the beginnings of plan and
// analysis: trials and results come after them. lasting is false where the system refused to read a file: it
// may not the next time.
func readListed(files fs.FS, name string) (run lab.ListedRun, lasting bool) {
	run.Name = name
	var study struct {
		Name, Title, Question string
		Variants              []lab.Variant
	}
	var answer lab.Conclusion
	var trials lab.TrialCounts
	var environment lab.Environment
	errs := []error{head(files, name, planFile, map[string]any{"created": &run.Created, "study": &study}),
		document(files, name, environmentFile, mostHead, &environment)}
	err := head(files, name, AnalysisFile, map[string]any{"answer": &answer, "trials": &trials})
	if !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	run.Notes, err = notes(files, name)
	errs = append(errs, err)
	if err = errors.Join(errs...); err != nil {
		run.Damaged = clip(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	lasting = !slices.ContainsFunc(errs, func(err error) bool {
		var refused syscall.Errno
		return errors.As(err, &refused) && refused != syscall.ENOENT // a missing file has a stamp, too
	})
	run.Study, run.Title, run.Question = clip(study.Name), clip(study.Title), clip(study.Question)
	for _, v := range study.Variants[:min(len(study.Variants), 2*mostListed)] {
		if v.TwinOf == "" {
			run.Variants = append(run.Variants, clip(v.Name))
		}
	}
	run.Sentence, run.Headline = clip(answer.Sentence), shortened(answer.Headline)
	run.Valid, run.Planned = trials.Valid, trials.Planned
	run.Host, run.Commit = host(environment)
	return run, lasting
}

// host names the processors and the kernel of a host, and the commit that Cleave was built from.
func host(e lab.Environment) (name, commit string) {
	said := func(fact string) string {
		if e[fact].Value == nil {
			return ""
		}
		return clip(fmt.Sprint(e[fact].Value))
	}
	name = said("cpu_model")
	if cores := said("cores_online"); cores != "" {
		name += ", " + cores + " cores"
	}
	if kernel := said("kernel"); kernel != "" {
		name += ", Linux " + kernel
	}
	return strings.TrimPrefix(name, ", "), said("build_commit")
}

// shortened returns a headline of a size that a list can have many of.
func shortened(h *lab.Headline) *lab.Headline {
	if h == nil {
		return nil
	}
	short := lab.Headline{Title: clip(h.Title), Baseline: clip(h.Baseline)}
	for _, b := range h.Bars[:min(len(h.Bars), mostListed)] {
		for _, text := range []*string{&b.Label, &b.Metric, &b.Point, &b.Variant, &b.Baseline,
			(*string)(&b.Verdict)} {
			*text = clip(*text)
		}
		short.Bars = append(short.Bars, b)
	}
	return &short
}

// clip cuts a text that is too long for a list.
func clip(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:longestText], "") + " ..."
}
