package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/systems/external"
)

// leastHeld is the share of right answers without which a rate is not held, when
// no objective says otherwise.
const leastHeld = 0.99

// showHeld says up to which of the offered rates each system held: the load was
// achieved in every trial, and met the objective.
func (a app) showHeld(folder *store.Folder, documents documentFlags) error {
	plan, err := folder.Plan()
	if err != nil {
		return err
	}
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	shown := a.out
	if documents.json == "-" {
		shown = a.story
	}
	writeHeld(shown, plan.Study, trials)
	return nil
}

func writeHeld(w io.Writer, s lab.Study, trials []lab.Trial) {
	if !slices.ContainsFunc(s.Points, func(p lab.Point) bool { _, open := p.Level(external.Rate); return open }) {
		return
	}
	fmt.Fprintf(w, "Rates held (%s in every trial)\n", heldWords(s.Load))
	for _, v := range s.Variants {
		if v.TwinOf != "" {
			continue
		}
		var words []string
		for _, p := range s.Points {
			if rate, open := p.Level(external.Rate); open {
				words = append(words, fmt.Sprintf("%g/s %s", rate, heldAt(v.Name, p.Name, trials)))
			}
		}
		fmt.Fprintf(w, "  %-20s %s\n", v.Name, strings.Join(words, "; "))
	}
	fmt.Fprintln(w)
}

func heldWords(load *lab.Load) string {
	if load != nil && load.Objective != "" {
		return "achieved, and " + load.Objective
	}
	return "achieved, and at least 99 % right answers"
}

// heldAt says whether the last attempts of a system's trials held the rate.
// Trials in which the generator was the limit say nothing.
func heldAt(variant, point string, trials []lab.Trial) string {
	last := map[int]lab.Trial{}
	for _, t := range trials {
		if t.Variant == variant && t.Point.Name == point && t.Attempt >= last[t.Number].Attempt {
			last[t.Number] = t
		}
	}
	held, judged := 0, 0
	for _, t := range last {
		figures := t.Audit.Figures
		if _, asked := figures[external.FigureOffered]; !asked || figures[external.FigureLimited] > 0 {
			continue
		}
		judged++
		wrong := figures[external.FigureErrorShare] > 1-leastHeld
		if t.Audit.Verdict == lab.AuditValid && figures[external.FigureObjective] > 0 && !wrong {
			held++
		}
	}
	switch {
	case judged == 0:
		return "not known"
	case held == judged:
		return fmt.Sprintf("held in all %d trials", judged)
	}
	return fmt.Sprintf("not held in %d of %d trials", judged-held, judged)
}

// compareVerdict turns what a comparison found into the command's error.
func compareVerdict(folder *store.Folder, analysis lab.Analysis, mustKnow bool) error {
	for _, v := range analysis.Variants {
		if sum := analysis.Audit[v.Name]; sum.Verdict == lab.AuditInvalid {
			return withCode(exitInvariant, "%s did not give a right answer: %v", v.Name, sum.Problems)
		}
	}
	if err := allCounted(folder); err != nil {
		return err
	}
	for _, c := range analysis.Comparisons {
		if mustKnow && len(analysis.Metrics) > 0 && c.Metric == analysis.Metrics[0].Name && c.Verdict == lab.Undecided {
			return withCode(exitUndecided, "%s against %s at %s is undecided: %s", c.Variant, c.Baseline, c.Point.Name, c.Words)
		}
	}
	return nil
}
