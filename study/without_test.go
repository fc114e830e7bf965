package study_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// names returns the names of the variants of a study.
func names(s lab.Study) (all []string) {
	for _, v := range s.Variants {
		all = append(all, v.Name)
	}
	return all
}

// stallStudy returns the study of stall with a twin, steps and a claim.
func stallStudy(t *testing.T) lab.Study {
	t.Helper()
	file := parsed(t, stall("design: {noise_floor: [a], noise_floor_points: [low]}\n"+
		"steps: {variants: [a, d, b], points: [low]}\n"+
		"claims: [{id: x, text: t, kind: slower, variant: d, against: a}]\n"), kiosk())
	return resolved(t, file, study.Options{})
}

// TestVariantsThatAHostLacksAreLeftOut: with their twins and steps. An absent baseline is replaced.
func TestVariantsThatAHostLacksAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		lacks    []lab.Lack
		variants string
		baseline string
		steps    []string // where they lead
		absent   []string
	}{
		"nothing":      {nil, "a a.twin b d e", "a", []string{"a d", "d b"}, nil},
		"a variant":    {lackOf("d"), "a a.twin b e", "a", []string{"a b"}, []string{"d: no oven; no coal"}},
		"the baseline": {lackOf("a"), "b b.twin d e", "b", []string{"d b"}, []string{"a: no oven; no coal"}},
		"a point":      {lackOf("a", "high"), "a a.twin b d e", "a", []string{"a d", "d b"}, nil},
		"all points, one by one": {append(lackOf("d", "high"), lab.Lack{Variant: "d", Points: []string{"low"},
			Err: errors.New("no door")}), "a a.twin b e", "a", []string{"a b"},
			[]string{"d: no oven; no coal; no door"}},
	} {
		s := study.Without(stallStudy(t), c.lacks)
		var absent, steps []string
		for _, v := range s.Absent {
			if v.Name != "c" { // which no host can build
				absent = append(absent, v.Name+": "+v.Reason)
			}
		}
		for _, step := range s.Steps {
			steps = append(steps, step.Before+" "+step.Variant)
		}
		if got := strings.Join(names(s), " "); got != c.variants || s.Baseline != c.baseline ||
			!slices.Equal(s.Design.NoiseFloor, []string{c.baseline}) || !slices.Equal(absent, c.absent) {
			t.Errorf("%s: left are %q against %s with twins of %q, absent %q", name, got, s.Baseline,
				s.Design.NoiseFloor, absent)
		}
		if !slices.Equal(steps, c.steps) {
			t.Errorf("%s: the steps are %q, want %q", name, steps, c.steps)
		}
	}
}

// TestATwinIsWhereTwinsAre: if the only twin is left out, the first variant that plays at the points of twins
// gets one. None does if no variant plays there.
func TestATwinIsWhereTwinsAre(t *testing.T) {
	for name, c := range map[string]struct {
		points string // of the noise floor
		lacks  []lab.Lack
		want   string // twins with their points
	}{
		"the baseline stays":       {"[low]", lackOf("a", "low"), "b.twin [low]"},
		"the baseline is replaced": {"[high]", append(lackOf("a"), lackOf("b", "high")...), "d.twin [high]"},
		"any points":               {"[]", append(lackOf("a"), lackOf("b", "high")...), "b.twin [low]"},
		"no variant is there":      {"[high]", append(append(lackOf("a"), lackOf("b")...), lackOf("d")...), ""},
	} {
		file := parsed(t, stall("design: {noise_floor: [a], noise_floor_points: "+c.points+"}\n"), kiosk())
		s := study.Without(resolved(t, file, study.Options{}), c.lacks)
		var twins, of []string
		for _, v := range s.Variants {
			if v.TwinOf != "" {
				twins = append(twins, fmt.Sprint(v.Name, " ", v.Points))
				of = append(of, v.TwinOf)
			}
		}
		if got := strings.Join(twins, " "); got != c.want || !slices.Equal(s.Design.NoiseFloor, of) {
			t.Errorf("%s: the twins are %q, want %q; the noise floor is %q", name, got, c.want, s.Design.NoiseFloor)
		}
	}
}

// lackOf returns the lack of an oven and coal for a variant, at all points or at the given ones.
func lackOf(variant string, points ...string) []lab.Lack {
	return []lab.Lack{{Variant: variant, Points: points, Err: errors.New("no oven\nno coal")}}
}

func TestPointsThatAHostLacksAreLeftOut(t *testing.T) {
	s := study.Without(stallStudy(t), lackOf("a", "high"))
	if v, _ := s.Variant("a"); !slices.Equal(v.Points, []string{"low"}) {
		t.Errorf("a plays at %q, want low alone", v.Points)
	}
}

func TestNotesSayWhatIsLeftOut(t *testing.T) {
	for note, lacks := range map[string][]lab.Lack{
		"d: untestable here: no oven; no coal":                 lackOf("d"),
		"d, e: untestable here: no oven; no coal":              append(lackOf("e"), lackOf("d")...),
		"All are compared with b, since a is untestable here.": lackOf("a"),
		"a at high: untestable here: no oven; no coal":         lackOf("a", "high"),
	} {
		s := study.Without(stallStudy(t), lacks)
		if !slices.Contains(s.Notes, note) || strings.Count(strings.Join(s.Notes, "\n"), "no oven") != 1 {
			t.Errorf("the notes are %q, want %q among them, and the part once", s.Notes, note)
		}
	}
}

// TestABaselineThatIsNotAskedForIsNoted: with its own reason, also if another variant replaces it.
func TestABaselineThatIsNotAskedForIsNoted(t *testing.T) {
	text := strings.Replace(string(stall("")), "a: {architecture: stand}",
		"a: {architecture: stand, points: [low]}", 1)
	s := resolved(t, parsed(t, []byte(text), kiosk()), study.Options{Points: []string{"high"}})
	const reason = "it plays at none of the points that are played"
	const alone = "No variant is compared with the baseline a: " + reason + "."
	if !slices.Contains(s.Notes, alone) {
		t.Errorf("the notes are %q, want %q among them", s.Notes, alone)
	}
	s = study.Without(s, lackOf("d"))
	const replaced = "All are compared with b, since a is not played: " + reason + "."
	if !slices.Contains(s.Notes, replaced) || slices.Contains(s.Notes, alone) {
		t.Errorf("the notes are %q, want %q among them, and not %q", s.Notes, replaced, alone)
	}
}

// TestAReducedStudyCanBeStored: it keeps all claims, also the untestable ones. The study itself is not
// changed.
func TestAReducedStudyCanBeStored(t *testing.T) {
	whole := stallStudy(t)
	for _, lacks := range [][]lab.Lack{nil, lackOf("d"), lackOf("a"), lackOf("a", "high"), lackOf("a", "low")} {
		s := study.Without(whole, lacks)
		plan, err := study.Expand(s, "full", time.Time{})
		if err == nil {
			err = study.CheckPlan("plan.json", plan, kiosk())
		}
		if err != nil || len(s.Claims) != len(whole.Claims) {
			t.Errorf("%d claims are left, want %d; storing the plan: %v", len(s.Claims), len(whole.Claims), err)
		}
	}
	if !reflect.DeepEqual(whole, stallStudy(t)) {
		t.Error("leaving out has changed the study itself")
	}
}

func TestNothingIsLeftOfAStudy(t *testing.T) {
	var lacks []lab.Lack
	whole := stallStudy(t)
	for _, v := range whole.Variants {
		lacks = append(lacks, lab.Lack{Variant: v.Name, Err: errors.New("no oven")})
	}
	if s := study.Without(whole, lacks); len(s.Variants)+len(s.Points)+len(s.Steps) != 0 {
		t.Errorf("%d variants, %d points and %d steps are left", len(s.Variants), len(s.Points), len(s.Steps))
	}
}

// TestStepsSkipAbsentVariants: with the changes of the steps that are joined, in each order.
func TestStepsSkipAbsentVariants(t *testing.T) {
	change := func(knob, from, to string) []lab.KnobChange {
		return []lab.KnobChange{{Knob: knob, From: from, To: to}}
	}
	s := lab.Study{Points: []lab.Point{{Name: "p"}}, Baseline: "a", Variants: []lab.Variant{{Name: "a"},
		{Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}, Steps: []lab.PathStep{
		{Order: 1, Before: "a", Variant: "b", Changes: change("x", "1", "2")},
		{Order: 1, Before: "b", Variant: "c", Changes: change("y", "1", "2")},
		{Order: 1, Before: "c", Variant: "d", Changes: change("x", "2", "3"), Tunes: true},
		{Order: 2, Before: "a", Variant: "e", Changes: change("y", "1", "2")},
		{Order: 2, Before: "e", Variant: "d", Changes: change("x", "1", "3")},
	}}
	lacks := []lab.Lack{{Variant: "b", Err: errors.New("no")}, {Variant: "c", Err: errors.New("no")}}
	whole := lab.PathStep{Order: 1, Before: "a", Variant: "d", Tunes: true, Changes: []lab.KnobChange{
		{Knob: "x", From: "1", To: "3"}, {Knob: "y", From: "1", To: "2"}}}
	if got := study.Without(s, lacks).Steps; !reflect.DeepEqual(got,
		append([]lab.PathStep{whole}, s.Steps[3:]...)) {
		t.Errorf("the steps are %+v", got)
	}
	lacks = append(lacks, lab.Lack{Variant: "e", Err: errors.New("no")})
	if got := study.Without(s, lacks).Steps; !reflect.DeepEqual(got, []lab.PathStep{whole}) {
		t.Errorf("the steps are %+v, want the same way once", got)
	}
	begun := []lab.Lack{{Variant: "a", Err: errors.New("no")}, lacks[1]}
	if got := study.Without(s, begun).Steps; len(got) != 2 || got[0].Before != "b" || got[1].Before != "e" {
		t.Errorf("the steps are %+v, want both ways to d: from b and from e", got)
	}
	// The first step changes x twice, and brings a knob into effect that stays in effect.
	s.Steps[0].Changes = []lab.KnobChange{{Knob: "x", From: "0", To: "1"}, {Knob: "x", From: "1", To: "2",
		With: "z 5"}}
	whole.Changes[0].From = "0"
	whole.Changes[0].With = "z 5"
	if got := study.Without(s, lacks).Steps; !reflect.DeepEqual(got, []lab.PathStep{whole}) {
		t.Errorf("the steps are %+v, want one change of x", got)
	}
}
