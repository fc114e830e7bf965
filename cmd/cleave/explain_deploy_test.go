package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// TestExplainLeadsToAnotherDeployment: if the target has another deployment, explain has a step for the
// container and one for its network. In the first order they are the last ones before steps to tuned
// variants; in the other order they come first.
func TestExplainLeadsToAnotherDeployment(t *testing.T) {
	bridge := "deployment=docker-bridge"
	for _, c := range []struct {
		name string
		args []string
		want [2]string // the changed knobs in both orders
		end  string    // the last stop; "": any
	}{
		{name: "nothing else", args: []string{"--from", "sync", "--to", "sync " + bridge},
			want: [2]string{"process docker-host docker-bridge"}, end: "sync-docker-bridge"},
		{name: "in one order", args: []string{"--one-order", "--to", "sync " + bridge},
			want: [2]string{"coordination data placement process docker-host docker-bridge"},
			end:  "sync-docker-bridge"},
		{name: "in two orders", args: []string{"--to", "sync " + bridge},
			want: [2]string{"coordination data placement process docker-host docker-bridge",
				"process docker-host docker-bridge coordination placement data"}, end: "sync-docker-bridge"},
		{name: "tuned knobs come after the deployment", args: []string{"--one-order", "--from", "sync", "--to",
			"sync batching=on deployment=docker-host"},
			want: [2]string{"process docker-host batching"}, end: ""},
		{name: "on to the tuned variant", args: []string{"--one-order", "--tuned", "--from", "sync", "--to",
			"sync " + bridge},
			want: [2]string{"process docker-host docker-bridge binding batching"}, end: "sync-tuned-docker-bridge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := makePlan(t, append([]string{"explain", "shop"}, c.args...)...).Study
			var changed [2][]string
			reached := map[int]lab.Variant{} // the last stop of each order so far
			for _, step := range s.Steps {
				before, known := s.Variant(step.Before)
				after, alsoKnown := s.Variant(step.Variant)
				if last, begun := reached[step.Order]; !known || !alsoKnown || begun && last.Name != before.Name ||
					!begun && before.Name != s.Baseline {
					t.Fatalf("%+v does not begin at the stop before, or its stops are no variants", step)
				}
				reached[step.Order] = after
				changed[step.Order-1] = append(changed[step.Order-1], changedBy(step, before, after)...)
			}
			for i, want := range c.want {
				if got := strings.Join(slices.Compact(changed[i]), " "); got != want {
					t.Errorf("order %d changes %q, want %q", i+1, got, want)
				}
			}
			if c.end != "" && reached[1].Name != c.end {
				t.Errorf("it ends at %s, want %s", reached[1].Name, c.end)
			}
			if len(reached) == 2 && reached[1].Name != reached[2].Name {
				t.Errorf("the orders end at %s and at %s", reached[1].Name, reached[2].Name)
			}
		})
	}
}

// changedBy returns what a step changes: the names of both deployments, or else the names of the knobs.
func changedBy(step lab.PathStep, before, after lab.Variant) []string {
	if step.Knob() == "deployment" {
		return []string{before.Deployment, after.Deployment}
	}
	if before.Deployment != after.Deployment {
		return []string{fmt.Sprintf("%s together with the deployment", step.Knob())}
	}
	var all []string
	for _, c := range step.Changes {
		all = append(all, c.Knob)
	}
	return all
}

// TestPlansHaveNamesThatCanBeRead: stops of so many knobs that their names would be too long have numbers.
// The twin of a stop with a long name may have a longer one. A plan whose names could not be read again is
// refused before it is played.
func TestPlansHaveNamesThatCanBeRead(t *testing.T) {
	long := makePlan(t, "explain", "shop", "--to", "sync", "--from", "sync encoding=msgpack security=mtls "+
		"resilience=guarded sidecar=haproxy reference=replicated").Study
	if _, twin := long.Variant(long.Baseline + study.TwinSuffix); !twin || len(long.Baseline) < 60 {
		t.Errorf("%s has no twin", long.Baseline)
	}
	s := makePlan(t, "explain", "shop", "--from", "sync", "--to", "sync security=mtls encoding=msgpack "+
		"resilience=guarded sidecar=haproxy logging=requests spans=all reference=replicated views=cached "+
		"data-access=orm").Study
	if len(s.Steps) != 18 {
		t.Errorf("%d steps, want 9 in each order", len(s.Steps))
	}
	for _, step := range s.Steps {
		before, known := s.Variant(step.Before)
		after, alsoKnown := s.Variant(step.Variant)
		if !known || !alsoKnown || len(changedBy(step, before, after)) != 1 {
			t.Errorf("the step from %s to %s changes not one knob", step.Before, step.Variant)
		}
	}
	s.Variants[1].Name = "sync_mtls"
	f := experimentFlags{isSet: func(string) bool { return false }}
	if _, err := f.expand(&study.File{Study: s}, f.options()); err == nil ||
		!strings.Contains(err.Error(), `variant is called "sync_mtls"`) {
		t.Errorf("a plan with a bad name ends with %v", err)
	}
}
