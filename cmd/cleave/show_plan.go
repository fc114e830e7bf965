package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/search"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
)

// showPlan writes a plan as text, or as JSON with --json. It prints notes about the parts that this host
// lacks for the plan.
func (a app) showPlan(ctx context.Context, plan lab.Plan, flags *experimentFlags) error {
	if flags.documents.format != "" {
		return withCode(exitBadPlan, "--plan plays nothing: --format %s has no results to write",
			flags.documents.format)
	}
	if err := a.noteLacks(ctx, plan, flags); err != nil {
		return err
	}
	if flags.documents.json == "" {
		return writePlan(a.out, plan, flags.results)
	}
	return a.writeDocument(flags.documents.json, func(w io.Writer) error { return writeJSON(w, plan) })
}

// writePlan writes the trials of a plan, and its estimated time and disk space. The estimates are based on
// the last run of the same study below the folder for results, if there is one.
func writePlan(w io.Writer, plan lab.Plan, results string) error {
	s := plan.Study
	repeats := ""
	if s.Design.MaxRepeats > 0 {
		repeats = fmt.Sprintf("; each that does not count is played up to %s more",
			lab.Count(s.Design.MaxRepeats, "time"))
		if s.Design.Until == "" {
			repeats += ", then its point in a further block"
		}
	}
	lines := []string{
		fmt.Sprintf("%s: %s", s.Name, s.Title),
		fmt.Sprintf("trials    %d in %s%s", len(plan.Trials), lab.Count(s.Design.Blocks, "block"), repeats),
		fmt.Sprintf("variants  %s", strings.Join(variantNames(s), ", ")),
		fmt.Sprintf("points    %s", strings.Join(study.NamesOf(s.Points, pointName), ", ")),
	}
	if s.Factorial != nil {
		lines = append(lines, "design    "+s.Factorial.Description())
	}
	if s.Load != nil && s.Load.Arrivals != "" {
		lines = append(lines, "arrivals  "+s.Load.Arrivals+", in open loops")
	}
	before, unread := lastRun(filepath.Join(results, s.Name, "latest"), s)
	if unread != nil {
		before = earlierRun{}
	}
	lines = append(lines, "time      "+planTime(plan, before), "disk      "+before.diskText(plan, results))
	if unread != nil {
		lines = append(lines, fmt.Sprintf("          not estimated from the last run: %v", unread))
	}
	if s.Design.Lengthen > 1 {
		lines = append(lines, fmt.Sprintf("          loads become longer where trials are not steady, up to %g "+
			"times", s.Design.Lengthen))
	}
	if s.Design.Until != "" {
		ends := fmt.Sprintf("          it ends earlier if all is %s", s.Design.Until)
		if s.Design.Within > 0 {
			ends += fmt.Sprintf(", and at the latest %s after its first trial", durationText(s.Design.Within))
		}
		lines = append(lines, ends)
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, "nothing was played; the plan itself: --plan --json -"),
		"\n"))
	return err
}

// planTime describes the estimated time of a plan. The estimate comes from the earlier run, or else from the
// author's time, or else from the length of the load.
func planTime(plan lab.Plan, before earlierRun) string {
	load, upTo := 0.0, ""
	if l := plan.Study.Load; l != nil {
		load = l.Duration
		if before.trials == 0 { // the times of an earlier run outside its load include the warm-up
			load += l.LongestWarmUp()
		}
		if l.WarmUpLimit > l.WarmUp {
			upTo = "up to " // a warm-up ends when the load is steady
		}
	}
	// seconds is the time of all loads of a known length. rest is the other time of all trials, by the
	// earlier run; it is 0 without an earlier run.
	var seconds, rest float64
	searches := 0
	for _, trial := range plan.Trials {
		point, _ := plan.Study.Point(trial.Point)
		_, searched := point.Level(lab.FactorSearchFrom)
		if searched {
			searches++
		} else {
			seconds += load
		}
		rest += before.mean(trial, searched || load == 0)
	}
	switch {
	case before.trials > 0 && before.growth != 1:
		return fmt.Sprintf("about %s, if jobs last %s times as long as those in %s, at scale %g",
			durationText(seconds+rest), lab.Plain(before.growth), before.dir, plan.Study.Design.Scale/before.growth)
	case before.trials > 0:
		return fmt.Sprintf("about %s, estimated from the trials in %s", durationText(seconds+rest), before.dir)
	case plan.Study.Took > 0:
		return fmt.Sprintf("about %s on two processors without other work; more where trials are played again",
			durationText(plan.Study.Took))
	case load == 0:
		return "unknown before a run: every trial lasts until its work is done; after a run, even a smaller one, " +
			"there is an estimate"
	}
	parts := []string{fmt.Sprintf("%s of load", durationText(seconds))}
	all := seconds + trialOverhead*float64(len(plan.Trials))
	if searches > 0 {
		searching := float64(searches) * searchSeconds(*plan.Study.Load)
		all += searching
		parts = append(parts, fmt.Sprintf("some %s of %d searches", durationText(searching), searches))
	}
	parts = append(parts, fmt.Sprintf("and start, checks and stop of %s, a second or two each, more in "+
		"containers", lab.Count(len(plan.Trials), "trial")))
	return fmt.Sprintf("%sabout %s: %s", upTo, durationText(all), strings.Join(parts, ", "))
}

// searchSeconds estimates the time of a search for the capacity, in seconds. It does not include the time in
// which a system finishes its backlogs between probes.
func searchSeconds(l lab.Load) float64 {
	loads := search.Options{Resolution: l.Effort.Resolution, Votes: l.Effort.Votes}.Loads()
	return l.LongestWarmUp() + loads*cmp.Or(l.Effort.Duration, l.Duration)
}

// trialOverhead is the assumed time of a trial without its load, in seconds, if there is no earlier run.
const trialOverhead = 1.5

func durationText(seconds float64) string {
	return progress.Duration(lab.Seconds(seconds))
}

// earlierRun holds the times of an earlier run.
type earlierRun struct {
	dir    string
	trials int
	bytes  int64
	growth float64                         // the scale of jobs now, divided by that of the earlier run
	groups map[lab.PlannedTrial]trialGroup // by the keys of similarTrials
}

// trialGroup holds the number of similar trials, and the sums of their times in lab.PhaseJob (job) and in the
// other phases (outside), in seconds. job is already multiplied by earlierRun.growth.
type trialGroup struct{ trials, outside, job float64 }

// lastRun reads the times and the size of an earlier run of the study s. It returns no trials if dir is no
// result folder. It assumes that the time of jobs is proportional to the scale.
func lastRun(dir string, s lab.Study) (earlierRun, error) {
	e := earlierRun{dir: dir, growth: 1, groups: map[lab.PlannedTrial]trialGroup{}}
	folder, err := store.Open(dir)
	if err != nil {
		return e, nil // there is no earlier run
	}
	played, err := folder.Plan()
	if err != nil {
		return e, err
	}
	if s.Load == nil && played.Study.Design.Scale > 0 {
		e.growth = s.Design.Scale / played.Study.Design.Scale
	}
	trials, err := folder.Trials()
	if err != nil {
		return e, err
	}
	for _, trial := range trials {
		if len(trial.Phases) == 0 {
			continue
		}
		e.trials++
		for _, key := range similarTrials(trial.Variant, trial.Point.Name) {
			group := e.groups[key]
			group.trials++
			for _, phase := range trial.Phases {
				if phase.Name == lab.PhaseJob {
					group.job += e.growth * phase.Seconds
				} else {
					group.outside += phase.Seconds
				}
			}
			e.groups[key] = group
		}
	}
	err = filepath.WalkDir(folder.Dir(), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			e.bytes += info.Size()
		}
		return err
	})
	return e, err
}

// similarTrials returns the keys of the groups of trials that a trial belongs to, the most specific first:
// the same variant and point, the same variant, and all trials.
func similarTrials(variant, point string) []lab.PlannedTrial {
	return []lab.PlannedTrial{{Variant: variant, Point: point}, {Variant: variant}, {}}
}

// mean returns the mean time of the trials of the earlier run that are most similar to a trial, in seconds.
// The time of lab.PhaseJob counts only withJob. mean returns 0 if there is no earlier run.
func (e earlierRun) mean(trial lab.PlannedTrial, withJob bool) float64 {
	for _, key := range similarTrials(trial.Variant, trial.Point) {
		group, played := e.groups[key]
		switch {
		case played && withJob:
			return (group.outside + group.job) / group.trials
		case played:
			return group.outside / group.trials
		}
	}
	return 0
}

// diskText estimates the size of the result folder.
func (e earlierRun) diskText(plan lab.Plan, results string) string {
	where := filepath.Join(results, plan.Study.Name)
	if e.trials == 0 {
		return "some 100 KiB for each trial (record, logs, histories), in " + where
	}
	perTrial := float64(e.bytes) / float64(e.trials)
	size := figure.Amount(perTrial*float64(len(plan.Trials)), "B")
	return fmt.Sprintf("about %s, in %s", size, where)
}
