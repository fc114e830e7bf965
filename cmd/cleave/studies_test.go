package main

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/studies/published"
	"github.com/cleave-lab/cleave/study"
)

// builtIn returns a built-in study as it is played.
func builtIn(t *testing.T, name string, options study.Options) lab.Study {
	t.Helper()
	data, err := studies.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := study.Parse(name+".yaml", data, systemInfos(""))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := file.Resolve(options)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// TestPublishedFiguresMapToTheirStudy: what a figure is in our words, the study
// measures.
func TestPublishedFiguresMapToTheirStudy(t *testing.T) {
	for _, name := range published.Names() {
		figures, err := published.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		s := builtIn(t, name, study.Options{})
		for _, f := range figures.Figures {
			for _, variant := range []string{f.Ours.Variant, f.Ours.Against} {
				_, known := s.Variant(variant)
				absent := slices.ContainsFunc(s.Absent, func(v lab.AbsentVariant) bool { return v.Name == variant })
				if variant != "" && !known && !absent {
					t.Errorf("%s: figure %s is of the variant %q", name, f.ID, variant)
				}
			}
			if _, known := s.Point(f.Ours.Point); f.Ours.Point != "" && !known {
				t.Errorf("%s: figure %s is at the point %q", name, f.ID, f.Ours.Point)
			}
			if _, known := lab.MetricNamed(s.AllMetrics(), f.Ours.Metric); f.Ours.Metric != "" && !known {
				t.Errorf("%s: figure %s is of the metric %q", name, f.ID, f.Ours.Metric)
			}
		}
	}
}

// TestTheQuickProfileLeavesEveryClaimAPoint: every claim whose variants can be built has a
// point left in the quick profile.
func TestTheQuickProfileLeavesEveryClaimAPoint(t *testing.T) {
	for _, name := range []string{"costa2022", "flygare2017"} {
		s := builtIn(t, name, study.Options{Quick: true})
		for _, c := range s.Claims {
			ran := slices.ContainsFunc(s.Points, func(p lab.Point) bool {
				return len(c.Points) == 0 || slices.Contains(c.Points, p.Name)
			})
			if !ran {
				t.Errorf("%s: claim %s is about %v, of which the quick profile plays none", name, c.ID, c.Points)
			}
		}
	}
}

// TestCosta2022ShowsWhereTheDifferenceComesFrom: between its own variants, at points
// that the quick profile plays too, with everything that a step turns.
func TestCosta2022ShowsWhereTheDifferenceComesFrom(t *testing.T) {
	knobs := func(c lab.Variant) (map[string]string, error) {
		if c.Architecture == "async" {
			return map[string]string{"broker": "rabbitmq"}, nil
		}
		return nil, nil
	}
	s := builtIn(t, "costa2022", study.Options{Quick: true, Knobs: knobs})
	want := []string{
		"monolith-ha -> sync: placement and replicas and data and coordination, with binding http",
		"sync -> async: coordination and views, with broker rabbitmq, documents sqlite",
	}
	var got []string
	for _, step := range s.Steps {
		got = append(got, step.Name+": "+step.Knob()+", with "+step.With())
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	if s.Explains() || s.Explained == nil || !slices.Equal(s.Explained.Points,
		[]string{"rpm-1200", "capacity"}) {
		t.Errorf("steps in %+v, beside %d claims", s.Explained, len(s.Claims))
	}
}
