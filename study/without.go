package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Without returns a study as a host can play it that lacks some parts. Variants that can be played nowhere
// become absent, with the reason, and their claims untestable; others keep the points at which they can be
// played. The notes name every missing part once. Where the baseline is among the absent, the first variant
// that is left takes its place, and that of the A/A pair. Steps lead past what is absent. The caller judges
// whether enough is left.
func Without(s lab.Study, lacks []lab.Lack) lab.Study {
	if len(lacks) == 0 {
		return s
	}
	s.Absent, s.Took = slices.Clone(s.Absent), 0
	s.Notes = slices.Concat(s.Notes, lab.LackLines(lacks, s.Originals()))
	var left []lab.Variant
	for _, v := range s.Variants {
		own := lacksOf(lacks, v)
		points := slices.DeleteFunc(pointsOf(s, v), func(point string) bool {
			return slices.ContainsFunc(own, func(l lab.Lack) bool {
				return len(l.Points) == 0 || slices.Contains(l.Points, point)
			})
		})
		switch {
		case len(own) == 0:
			left = append(left, v)
		case len(points) > 0:
			v.Points = points
			left = append(left, v)
		case v.TwinOf == "":
			s.Absent = append(s.Absent, lab.AbsentVariant{Name: v.Name, Summary: v.Summary, Reason: reasonOf(own)})
		}
	}
	s.Variants = left
	s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p lab.Point) bool {
		return !slices.ContainsFunc(left, func(v lab.Variant) bool { return v.RunsAt(p.Name) })
	})
	s.Trends = chooseTrends(s)
	s.Steps = bridged(s)
	if s.Explained != nil && len(s.Explained.Points) > 0 {
		explained := *s.Explained
		explained.Points = playedPoints(s, explained.Points)
		if s.Explained = &explained; len(explained.Points) == 0 {
			s.Steps, s.Explained = nil, nil
		}
	}
	return rebased(s)
}

// lacksOf returns those of a variant, or of the one whose twin it is.
func lacksOf(lacks []lab.Lack, v lab.Variant) []lab.Lack {
	return slices.DeleteFunc(slices.Clone(lacks), func(l lab.Lack) bool {
		return l.Variant != v.Name && l.Variant != v.TwinOf
	})
}

// pointsOf returns the names of the points at which a variant is played.
func pointsOf(s lab.Study, v lab.Variant) []string {
	var names []string
	for _, p := range s.Points {
		if v.RunsAt(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// reasonOf writes what is missing in one line.
func reasonOf(lacks []lab.Lack) string {
	var parts []string
	for _, l := range lacks {
		parts = append(parts, oneLine(l.Err))
	}
	return strings.Join(parts, "; ")
}

// rebased gives a study a baseline, and an A/A pair, among the variants that it has.
func rebased(s lab.Study) lab.Study {
	has := func(name string) bool {
		_, is := s.Variant(name)
		return is
	}
	paired := len(s.Design.NoiseFloor) > 0
	s.Design.NoiseFloor = slices.DeleteFunc(slices.Clone(s.Design.NoiseFloor),
		func(name string) bool { return !has(name) })
	if len(s.Variants) == 0 || has(s.Baseline) {
		return s
	}
	base := s.Variants[0]
	s.Notes = append(s.Notes, fmt.Sprintf("All are compared with %s, since %s is untestable here.", base.Name,
		s.Baseline))
	s.Baseline = base.Name
	if paired && len(s.Design.NoiseFloor) == 0 {
		s.Design.NoiseFloor = []string{base.Name}
		s.Design.NoiseFloorPoints = intersection(s.Design.NoiseFloorPoints, pointsOf(s, base))
		s.Variants = slices.Insert(slices.Clone(s.Variants), 1, twin(base, s.Design.NoiseFloorPoints))
	}
	return s
}

// bridged returns the steps between variants that are left. A step that led to an absent variant becomes one
// with the next. An order without a step of its own that is left is dropped.
func bridged(s lab.Study) []lab.PathStep {
	var all []lab.PathStep
	var open *lab.PathStep // its end is absent
	for i, step := range s.Steps {
		if i > 0 && step.Order != s.Steps[i-1].Order {
			open = nil
		}
		if open != nil {
			step.Before, step.Changes = open.Before, joined(open.Changes, step.Changes)
			step.Tunes = step.Tunes || open.Tunes
		}
		open = nil
		_, begins := s.Variant(step.Before)
		switch _, ends := s.Variant(step.Variant); {
		case !begins: // nothing before it is left
		case !ends:
			open = &step
		default:
			if step.Name != "" {
				step.Name = step.Before + " -> " + step.Variant
			}
			all = append(all, step)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(step lab.PathStep) bool {
		return step.Order > 1 && sameOrder(all, step.Order)
	})
}

// joined returns the changes of two steps as those of one.
func joined(first, second []lab.KnobChange) []lab.KnobChange {
	all := slices.Clone(first)
	for _, c := range second {
		i := slices.IndexFunc(all, func(before lab.KnobChange) bool { return before.Knob == c.Knob })
		if i < 0 {
			all = append(all, c)
			continue
		}
		all[i].To, all[i].With = c.To, c.With
	}
	return slices.DeleteFunc(all, func(c lab.KnobChange) bool { return c.From == c.To })
}

// sameOrder reports whether an order has the variants of the first order, in the same sequence.
func sameOrder(steps []lab.PathStep, order int) bool {
	stops := map[int][]string{}
	for _, step := range steps {
		stops[step.Order] = append(stops[step.Order], step.Variant)
	}
	return slices.Equal(stops[1], stops[order])
}
