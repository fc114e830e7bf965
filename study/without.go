package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Without returns the study as a host that lacks some parts can play it. A variant that cannot be played at
// any point becomes absent, with the reason, and the analysis finds its claims untestable. Other variants
// keep the points at which they can be played. The notes name every missing part once. If the baseline
// becomes absent, the first remaining variant replaces it. If all twins are gone, another variant gets a
// twin. Steps skip absent variants. The caller decides whether enough is left.
func Without(s lab.Study, lacks []lab.Lack) lab.Study {
	if len(lacks) == 0 {
		return s
	}
	hadTwin := slices.ContainsFunc(s.Variants, func(v lab.Variant) bool { return v.TwinOf != "" })
	s.Absent = slices.Clone(s.Absent)
	s.Took = 0
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
			s.Steps = nil
			s.Explained = nil
		}
	}
	s.Design.NoiseFloor = slices.DeleteFunc(slices.Clone(s.Design.NoiseFloor), func(name string) bool {
		_, plays := s.Variant(name + TwinSuffix)
		return !plays
	})
	if s = rebased(s); hadTwin && len(s.Design.NoiseFloor) == 0 {
		s = withTwin(s)
	}
	return s
}

// lacksOf returns the parts that a variant lacks. A twin also lacks the parts that its original lacks.
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

// reasonOf returns the missing parts as one line.
func reasonOf(lacks []lab.Lack) string {
	return strings.Join(NamesOf(lacks, func(l lab.Lack) string { return oneLine(l.Err) }), "; ")
}

// rebased returns the study with its first variant as the baseline, and a note, if the baseline is absent.
func rebased(s lab.Study) lab.Study {
	if _, plays := s.Variant(s.Baseline); plays || len(s.Variants) == 0 {
		return s
	}
	base, why := s.Variants[0].Name, s.Baseline+" is untestable here"
	if absent, is := unaskedBaseline(s); is {
		why = absent.Name + " is not played: " + absent.Reason
		s.Notes = slices.DeleteFunc(s.Notes, func(note string) bool { return note == uncompared(absent) })
	}
	s.Notes = append(s.Notes, fmt.Sprintf("All are compared with %s, since %s.", base, why))
	s.Baseline = base
	return s
}

// unaskedBaseline returns the baseline if it is absent because the user has not selected it.
func unaskedBaseline(s lab.Study) (lab.AbsentVariant, bool) {
	i := slices.IndexFunc(s.Absent, func(v lab.AbsentVariant) bool { return v.Name == s.Baseline && v.Unasked })
	if i < 0 {
		return lab.AbsentVariant{}, false
	}
	return s.Absent[i], true
}

// uncompared returns the note on an absent baseline that no other variant replaces.
func uncompared(base lab.AbsentVariant) string {
	return fmt.Sprintf("No variant is compared with the baseline %s: %s.", base.Name, base.Reason)
}

// withTwin adds a twin of the first variant that plays at a point of twins (NoiseFloorPoints; empty: all). It
// adds none if no variant does.
func withTwin(s lab.Study) lab.Study {
	d := &s.Design
	first := slices.IndexFunc(s.Variants, func(v lab.Variant) bool {
		common := intersection(pointsOf(s, v), d.NoiseFloorPoints)
		return len(d.NoiseFloorPoints) == 0 || len(common) > 0
	})
	if first < 0 {
		return s
	}
	v := s.Variants[first]
	d.NoiseFloor = []string{v.Name}
	d.NoiseFloorPoints = intersection(d.NoiseFloorPoints, pointsOf(s, v))
	s.Variants = slices.Insert(slices.Clone(s.Variants), first+1, twin(v, d.NoiseFloorPoints))
	return s
}

// bridged returns the steps between the remaining variants. A step to an absent variant is joined with the
// next one. An order that has become the same as the first order is dropped.
func bridged(s lab.Study) []lab.PathStep {
	var all []lab.PathStep
	var open *lab.PathStep // the last step, if it ends at an absent variant
	for i, step := range s.Steps {
		if i > 0 && step.Order != s.Steps[i-1].Order {
			open = nil
		}
		if open != nil {
			step.Before = open.Before
			step.Changes = joined(open.Changes, step.Changes)
			step.Tunes = step.Tunes || open.Tunes
		}
		open = nil
		_, begins := s.Variant(step.Before)
		switch _, ends := s.Variant(step.Variant); {
		case !begins: // all variants of the order up to step.Before are absent
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

// joined returns the changes of two successive steps as the changes of one step. Each knob occurs once in the
// result, though even one of the two steps may change a knob twice, over a value in between.
func joined(first, second []lab.KnobChange) []lab.KnobChange {
	var all []lab.KnobChange
	for _, c := range slices.Concat(first, second) {
		i := slices.IndexFunc(all, func(before lab.KnobChange) bool { return before.Knob == c.Knob })
		if i < 0 {
			all = append(all, c)
			continue
		}
		all[i].To = c.To
		all[i].With = strings.Trim(all[i].With+", "+c.With, ", ")
	}
	return slices.DeleteFunc(all, func(c lab.KnobChange) bool { return c.From == c.To })
}

// sameOrder reports whether the steps of an order lead between the same variants as those of the first order.
func sameOrder(steps []lab.PathStep, order int) bool {
	stops := map[int][]string{}
	for _, step := range steps {
		stops[step.Order] = append(stops[step.Order], step.Before, step.Variant)
	}
	return slices.Equal(stops[1], stops[order])
}
