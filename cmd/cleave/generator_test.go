package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestTheAgentIsToldWhatASearchMayCost: what a study says of searches reaches the
// load engine.
func TestTheAgentIsToldWhatASearchMayCost(t *testing.T) {
	job := lab.LoadJob{Rate: 10, Search: true, Load: lab.Load{
		Scenario: json.RawMessage(`{}`), Duration: 2, Lateness: 0.05, Effort: lab.SearchEffort{Resolution: 1.25, Votes: 1},
	}}
	work, err := agentJob(job)
	if err != nil {
		t.Fatal(err)
	}
	if !work.Search || work.Resolution != 1.25 || work.Votes != 1 || time.Duration(work.Spec.Lateness) != 50*time.Millisecond {
		t.Errorf("search %t, resolution %g, votes %d, lateness %v", work.Search, work.Resolution, work.Votes, time.Duration(work.Spec.Lateness))
	}
}
