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

// Runs returns the list of runs, the newest first, and counts the runs that the list lacks. It caches
// entries: if it reaches the limit of bytes, the next call reads the runs that this one could not read.
func (s *Shelf) Runs() (runs []lab.ListedRun, left lab.LeftOut, err error) {
	names, unseen, err := s.names()
	if err != nil {
		return nil, left, err
	}
	slices.SortStableFunc(names, func(a, b string) int { // the last part of a name begins with its time
		return cmp.Compare(path.Base(b), path.Base(a))
	})
	listed := names[:min(len(names), s.maxRuns)]
	left = lab.LeftOut{Beyond: len(names) - len(listed), Unseen: unseen}
	files := &allowance{FS: s.files, left: s.maxBytes}
	for _, name := range listed {
		if run, ok := s.listedRun(files, name); ok {
			runs = append(runs, run)
		} else {
			left.Unread++
		}
	}
	s.pruneCache(listed)
	slices.SortStableFunc(runs, func(a, b lab.ListedRun) int { return b.Created.Compare(a.Created) })
	return runs, left, nil
}

// pruneCache removes runs from the cache that are not in the list any more, if the cache is larger than the
// list.
func (s *Shelf) pruneCache(listed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) <= len(listed) {
		return
	}
	kept := make(map[string]entry, len(listed))
	for _, name := range listed {
		if one, cached := s.entries[name]; cached {
			kept[name] = one
		}
	}
	s.entries = kept
}

// listedRun returns the entry of a run in a list. It reads the files of the run only if one has changed. ok
// is false if the files must be read and the allowance is spent.
func (s *Shelf) listedRun(files *allowance, name string) (run lab.ListedRun, ok bool) {
	// The state is read before the files: otherwise a run whose report is written in between would be listed as
	// reported, without its answer.
	state := s.state(name)
	// The stamps are read before the files, too, so that the next list notices a change in between.
	current, complete := s.stamps(name)
	s.mu.Lock()
	cached, isCached := s.entries[name]
	s.mu.Unlock()
	if !complete || !isCached || cached.stamps != current {
		if files.left <= 0 {
			return run, false
		}
		var cacheable bool
		run, cacheable = readListed(files, name)
		cached = entry{current, run}
		if complete && cacheable {
			s.mu.Lock()
			s.entries[name] = cached
			s.mu.Unlock()
		}
	}
	cached.run.State = state
	return cached.run, true
}

// entry is a cached run of the list, without its state, with the stamps of its files before they were read.
type entry struct {
	stamps stamps
	run    lab.ListedRun
}

// stamps holds the stamps of the files from which an entry is read: plan, environment, analysis and notes.
type stamps [4]stamp

// stamp changes with the content of a file: Cleave replaces files, which gives them a new inode, and other
// programs that write into a file change its times. The stamp of a missing file is zero.
type stamp struct {
	inode             uint64
	size              int64
	modified, changed syscall.Timespec
}

// stamps returns the stamps of the files of a run. complete is false if one could not be read.
func (s *Shelf) stamps(name string) (all stamps, complete bool) {
	run, err := s.root.OpenRoot(name)
	if err != nil {
		return all, false
	}
	defer func() { _ = run.Close() }() // only read
	for i, file := range []string{planFile, environmentFile, AnalysisFile, notesFile} {
		info, err := run.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return all, false
		}
		stat, isStat := info.Sys().(*syscall.Stat_t)
		if !isStat {
			return all, false
		}
		all[i] = stamp{stat.Ino, stat.Size, stat.Mtim, stat.Ctim}
	}
	return all, true
}

// readListed reads the entry of a run in a list, without its state. It reads plan and analysis only up to the
// wanted members, which come before trials and results. cacheable is false if the system refused to read a
// file, for instance because too many files are open: the next attempt may succeed.
func readListed(files fs.FS, name string) (run lab.ListedRun, cacheable bool) {
	run.Name = name
	var study struct {
		Name, Title, Question string
		Variants              []lab.Variant
	}
	var answer lab.Conclusion
	var trials lab.TrialCounts
	var environment lab.Environment
	errs := []error{decodeMembers(files, name, planFile, members{"created": &run.Created, "study": &study}),
		decodeFile(files, name, environmentFile, maxHead, &environment)}
	err := decodeMembers(files, name, AnalysisFile, members{"answer": &answer, "trials": &trials})
	if !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	run.Notes, err = notes(files, name)
	errs = append(errs, err)
	if err = errors.Join(errs...); err != nil {
		run.Damaged = clip(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	cacheable = !slices.ContainsFunc(errs, func(err error) bool {
		var refused syscall.Errno
		return errors.As(err, &refused) && refused != syscall.ENOENT // stamps show when a missing file appears
	})
	run.Study, run.Title, run.Question = clip(study.Name), clip(study.Title), clip(study.Question)
	for _, v := range study.Variants[:min(len(study.Variants), maxVariants)] {
		if v.TwinOf == "" {
			run.Variants = append(run.Variants, clip(v.Name))
		}
	}
	run.Sentence, run.Headline = clip(answer.Sentence), shortened(answer.Headline)
	run.Valid, run.Planned = trials.Valid, trials.Planned
	run.Host, run.Commit = host(environment)
	return run, cacheable
}

// host returns a description of the processors and the kernel of a host, and the commit that Cleave was built
// from.
func host(e lab.Environment) (name, commit string) {
	value := func(fact string) string {
		if e[fact].Value == nil {
			return ""
		}
		return clip(fmt.Sprint(e[fact].Value))
	}
	name = value("cpu_model")
	switch cores := value("cores_online"); cores {
	case "":
	case "1":
		name += ", 1 core"
	default:
		name += ", " + cores + " cores"
	}
	if kernel := value("kernel"); kernel != "" {
		name += ", Linux " + kernel
	}
	return strings.TrimPrefix(name, ", "), value("build_commit")
}

// shortened returns a headline that is short enough for a list: with few bars and clipped texts.
func shortened(h *lab.Headline) *lab.Headline {
	if h == nil {
		return nil
	}
	short := lab.Headline{Title: clip(h.Title), Baseline: clip(h.Baseline)}
	for _, b := range h.Bars[:min(len(h.Bars), maxBars)] {
		for _, text := range []*string{&b.Label, &b.Metric, &b.Point, &b.Variant, &b.Baseline,
			(*string)(&b.Verdict)} {
			*text = clip(*text)
		}
		short.Bars = append(short.Bars, b)
	}
	return &short
}

// clip returns a text for a list: cut to longestText bytes and " ..." if it is longer.
func clip(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:longestText], "") + " ..."
}
