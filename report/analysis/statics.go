package analysis

import "github.com/cleave-lab/cleave/lab"

// statics returns the static costs of variants, such as lines of code and units, per variant and point.
func (e *experiment) statics() []lab.VariantStatics {
	var all []lab.VariantStatics
	baseline := e.codeOf(e.study.Baseline)
	for at, trials := range e.trialsBySetting() {
		if last := trials[len(trials)-1].Static; last != nil {
			all = append(all, staticsOf(at.Name, at.point, *last, baseline))
		}
	}
	return all
}

// codeOf returns the lines of code of a variant by package, at the first point at which it ran; nil if
// they were not counted.
func (e *experiment) codeOf(variant string) map[string]int {
	for at, trials := range e.trialsBySetting() {
		if last := trials[len(trials)-1].Static; at.Name == variant && last != nil {
			return last.Code
		}
	}
	return nil
}

// staticsOf sums up the static costs that a trial recorded, and compares its code with that of the baseline.
func staticsOf(
	variant string, point lab.Point, c lab.StaticCost, baseline map[string]int,
) lab.VariantStatics {
	s := lab.VariantStatics{Variant: variant, Point: point, Units: c.Units, Processes: c.Processes,
		Tables: c.Tables, Queues: c.Queues, ConfigurationLines: c.ConfigurationLines, Unknown: c.Unknown}
	if len(c.Images) > 0 {
		count, bytes := len(c.Images), int64(0)
		for _, image := range c.Images {
			bytes += image.Bytes
		}
		s.Images = &count
		s.ImageBytes = &bytes
	}
	if len(c.Code) == 0 {
		return s
	}
	lines := linesNotIn(c.Code, nil)
	s.CodeLines = &lines
	if len(baseline) > 0 {
		added := linesNotIn(c.Code, baseline)
		saved := linesNotIn(baseline, c.Code)
		s.CodeAdded = &added
		s.CodeSaved = &saved
	}
	return s
}

// linesNotIn returns the lines of the packages that others do not have.
func linesNotIn(code, others map[string]int) (sum int) {
	for name, lines := range code {
		if _, has := others[name]; !has {
			sum += lines
		}
	}
	return sum
}
