package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Runs returns the list of runs, the newest first, and counts the runs that the list lacks.
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
	for i, name := range listed {
		if files.left <= 0 {
			left.Unread = len(listed) - i
			break
		}
		runs = append(runs, s.listedRun(files, name))
	}
	slices.SortStableFunc(runs, func(a, b lab.ListedRun) int { return b.Created.Compare(a.Created) })
	return runs, left, nil
}

// listedRun returns the entry of a run in a list. It reads the state before the files: otherwise a run whose
// report is written in between would be listed as reported, without its answer.
func (s *Shelf) listedRun(files fs.FS, name string) lab.ListedRun {
	state := s.state(name)
	run := readListed(files, name)
	run.State = state
	return run
}

// readListed reads the entry of a run in a list, without its state. It reads plan and analysis only up to the
// wanted members, which come before trials and results.
func readListed(files fs.FS, name string) lab.ListedRun {
	run := lab.ListedRun{Name: name}
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
	run.Study = clip(study.Name)
	run.Title = clip(study.Title)
	run.Question = clip(study.Question)
	for _, v := range study.Variants[:min(len(study.Variants), maxVariants)] {
		if v.TwinOf == "" {
			run.Variants = append(run.Variants, clip(v.Name))
		}
	}
	run.Sentence = clip(answer.Sentence)
	run.Headline = shortened(answer.Headline)
	run.Valid = trials.Valid
	run.Planned = trials.Planned
	run.Host, run.Commit = host(environment)
	return run
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
