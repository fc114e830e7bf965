package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies/published"
	"github.com/cleave-lab/cleave/study"
)

// resolveStudy returns a built-in study in the form in which it is played.
func resolveStudy(t *testing.T, name string, options study.Options) lab.Study {
	t.Helper()
	file, err := builtIn(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := file.Resolve(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishedFiguresMapToTheirStudy: the variants, points and metrics of published figures
// exist in the study.
func TestPublishedFiguresMapToTheirStudy(t *testing.T) {
	for _, name := range published.Names() {
		figures, err := published.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		s := resolveStudy(t, name, study.Options{})
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

// TestTheQuickProfileLeavesEveryClaimAPoint: each claim of these studies has a point left in the quick
// profile. It does not check that the claim's variants play there. In other studies, such as rego2021, the
// quick profile leaves some claims untestable.
func TestTheQuickProfileLeavesEveryClaimAPoint(t *testing.T) {
	for _, name := range []string{"costa2022", "flygare2017", "zhao2025"} {
		s := resolveStudy(t, name, study.Options{Quick: true})
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

// TestCosta2022ShowsWhereTheDifferenceComesFrom: the steps of costa2022 are between its own variants and at
// points that the quick profile plays, too. They name all knobs that they change.
func TestCosta2022ShowsWhereTheDifferenceComesFrom(t *testing.T) {
	// As with --backing rabbitmq: only the event-driven variants have a broker.
	knobs := func(c lab.Variant) (map[string]string, error) {
		if c.Architecture == "async" {
			return map[string]string{"broker": "rabbitmq"}, nil
		}
		return nil, nil
	}
	s := resolveStudy(t, "costa2022", study.Options{Quick: true, Knobs: knobs})
	want := []string{
		"monolith-ha -> sync: placement and replicas and data and coordination, with binding http",
		"sync -> async: coordination and reference and views, with broker rabbitmq, documents sqlite",
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

// TestGroupingsAreThoseOfTheManifests checks the number of processes of each variant of mendonca2024. The
// wanted numbers were taken from the artefact of that study: the replica sets in its manifests or, for the
// variants -named, the groups in its configuration, which differs from the manifests.
func TestGroupingsAreThoseOfTheManifests(t *testing.T) {
	s := resolveStudy(t, "mendonca2024", study.Options{})
	layouts, err := layoutsOf(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"together": 1, "coupled-groups": 3, "coupled-groups-named": 2, "catalog-isolated": 3,
		"catalog-isolated-named": 2, "front-isolated": 2, "front-coupled": 9, "front-coupled-named": 8,
		"rear-coupled": 5, "apart": 11, "apart-front-node": 11, "apart-catalog-node": 11}
	for i, v := range s.Variants {
		units := len(layouts[i].Units) - 1 // without the generator
		if v.TwinOf == "" && units != want[v.Name] {
			t.Errorf("%s has %d processes, want %d", v.Name, units, want[v.Name])
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("no variants %v", want)
	}
}

// TestEnergyIsUntestable: the claims about energy have a reason, and each has a claim about CPU time for the
// same comparison.
func TestEnergyIsUntestable(t *testing.T) {
	energy := map[string]bool{}
	cpu := map[string]bool{}
	for _, c := range resolveStudy(t, "zhao2025", study.Options{}).Claims {
		pair := []string{c.Variant, c.Against}
		slices.Sort(pair)
		switch {
		case c.Untestable != "":
			energy[strings.Join(pair, " ")] = true
		case c.Metric == "cpu_per_operation":
			cpu[strings.Join(pair, " ")] = true
		}
	}
	delete(energy, " fine") // a claim about one variant at several loads, which compares it with none
	if len(energy) != 2 || !maps.Equal(energy, cpu) {
		t.Errorf("claims on energy compare %v, those on CPU time %v", energy, cpu)
	}
}
