package study

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// restrict narrows the points of variants that have points of their own. One with none of the points stays as
// it is, and leaveOut removes it.
func restrict(variants []lab.Variant, to []string) []lab.Variant {
	narrowed := slices.Clone(variants)
	for i, v := range narrowed {
		if common := intersection(v.Points, to); len(common) > 0 {
			narrowed[i].Points = common
		}
	}
	return narrowed
}

// playsAtSome reports whether a variant plays at one of the points. It is true if points is empty, which
// stands for all points.
func playsAtSome(v lab.Variant, points []string) bool {
	return len(points) == 0 || slices.ContainsFunc(points, v.RunsAt)
}

// intersection returns the names that are also in with. Where no points mean all points, callers must not use
// an empty result as a list of points.
func intersection(names, with []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(with, name) })
}

// chooseVariants moves variants without a remaining point to the absent ones, and adds the twins that have
// one. The baseline may become absent, too: unless Without replaces it, only claims compare the others then.
func chooseVariants(s *lab.Study) {
	var chosen []lab.Variant
	for _, v := range s.Variants {
		if len(pointsOf(*s, v)) == 0 {
			s.Absent = append(s.Absent, lab.AbsentVariant{Name: v.Name, Summary: v.Summary,
				Reason:  "it plays at none of the points that are played",
				Unasked: slices.ContainsFunc(s.Unasked, v.RunsAt)})
			continue
		}
		chosen = append(chosen, v)
		paired := slices.Contains(s.Design.NoiseFloor, v.Name) && playsAtSome(v, s.Design.NoiseFloorPoints)
		if second := twin(v, s.Design.NoiseFloorPoints); paired && len(pointsOf(*s, second)) > 0 {
			chosen = append(chosen, second)
		}
	}
	s.Variants = chosen
}

// noteAbsent adds a note for each reason why variants that were asked for cannot be played, and one if the
// baseline was not asked for.
func noteAbsent(s *lab.Study) {
	names := map[string]string{} // of variants, joined, by reason
	var reasons []string         // in the order of variants
	for _, v := range s.Absent {
		switch {
		case v.Unasked:
		case names[v.Reason] != "":
			names[v.Reason] += ", " + v.Name
		default:
			names[v.Reason] = v.Name
			reasons = append(reasons, v.Reason)
		}
	}
	s.Notes = slices.Clone(s.Notes)
	for _, reason := range reasons {
		s.Notes = append(s.Notes, lab.UntestableHere(names[reason], reason))
	}
	if base, is := unaskedBaseline(*s); is && len(s.Variants) > 1 {
		s.Notes = append(s.Notes, uncompared(base))
	}
}

// twin returns the variant under a second name. It plays at those of its points that are named for twins, or
// at all if none are named.
func twin(v lab.Variant, points []string) lab.Variant {
	v.TwinOf = v.Name
	v.Name += TwinSuffix
	switch {
	case len(v.Points) == 0:
		v.Points = points
	case len(points) > 0:
		v.Points = intersection(v.Points, points)
	}
	return v
}

// playedPoints returns those of the names that are points of the study.
func playedPoints(s lab.Study, names []string) []string {
	return intersection(names, NamesOf(s.Points, func(p lab.Point) string { return p.Name }))
}

// minTrendPoints is the number of points that a line with a standard error needs.
const minTrendPoints = 3

// chooseTrends returns the trends that have enough points left, each with these points.
func chooseTrends(s lab.Study) []lab.Trend {
	var chosen []lab.Trend
	for _, t := range s.Trends {
		if t.Points = playedPoints(s, t.Points); len(t.Points) >= minTrendPoints {
			chosen = append(chosen, t)
		}
	}
	return chosen
}
