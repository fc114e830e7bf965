package analysis

import (
	"math"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestCostsOfPlatformsAreMediansOfTrials: the times of a trial without a metered platform count, too. If all
// units are processes, there is no platform. Long because it lists all costs.
func TestCostsOfPlatformsAreMediansOfTrials(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	n := 3
	in := underLoad(point)
	for i := range n {
		trial := in.trial("one", point, i+1, nil)
		trial.Metered.WindowSeconds = 10
		trial.Operations = 100
		ready := float64(i + 1)
		trial.Platform = &lab.PlatformCost{MadeSeconds: 2, ImagesSeconds: 1, ReadySeconds: ready,
			Images: []lab.ProgramImage{{Program: "shop", Bytes: 25e6}},
			Starts: []lab.UnitStart{{Unit: "front", Seconds: 0.5}, {Unit: "database", Seconds: ready / 2}}}
		trial.Faults = []lab.FaultRecord{{Fault: lab.Fault{Kind: lab.FaultKill, Target: "front", Heal: 1}, Began: 3,
			Healed: 4.75, Effective: true},
			{Fault: lab.Fault{Kind: lab.FaultPause, Target: "front", Heal: 1}, Began: 3, Healed: 9, Effective: true},
			{Fault: lab.Fault{Kind: lab.FaultCut, Target: "node-2", Heal: 60}, Noticed: 40 + ready}}
		if i == 0 {
			trial.Platform.Unmetered = "it was not there"
			continue
		}
		trial.Platform.Used = &lab.Usage{CPUSeconds: 0.5, MeanMemoryBytes: 80e6, PeakMemoryBytes: 90e6}
		trial.Platform.Processes = []lab.ProcessUsage{{Unit: "node-1", Name: "dockerd", Processes: 1,
			CPUSeconds: 0.2, PeakMemoryBytes: 50e6},
			{Unit: "node-2", Name: "dockerd", Processes: 1, CPUSeconds: 0.3, PeakMemoryBytes: 40e6},
			{Unit: "node-1", Name: "containerd", Processes: 1, CPUSeconds: 0.01}}
	}
	in.trial("two", point, 1, nil)
	for i := range in.Plan.Study.Variants {
		in.Plan.Study.Variants[i].Deployment = lab.Process
	}
	if takes := Analyse(in).Platforms; takes != nil {
		t.Fatalf("processes have platforms: %+v", takes)
	}
	in.Plan.Study.Variants[0].Deployment = lab.DockerHost
	takes := Analyse(in).Platforms
	if len(takes) != 1 {
		t.Fatalf("there is %+v, want one row", takes)
	}
	p := takes[0]
	ready := float64(n+1) / 2
	if p.Trials != n || p.Deployment != lab.DockerHost || p.ReadySeconds != ready ||
		p.NothingSeconds != 3+ready {
		t.Errorf("it took %+v, want ready after %g s", p, ready)
	}
	if math.Abs(p.CPUShare-0.05) > 1e-9 || p.CPUPerOperation != 0.005 || p.MeanMemory != 80e6 ||
		p.PeakMemory != 90e6 || p.Unmetered != "" {
		t.Errorf("it used %+v", p)
	}
	if p.BackSeconds != 0.75 {
		t.Errorf("the killed unit is back after %g s, want 0.75", p.BackSeconds)
	}
	if p.NoticedSeconds != 42 {
		t.Errorf("a lost node is noticed after %g s, want 42", p.NoticedSeconds)
	}
	if len(p.Starts) != 2 || p.Starts[0].Unit != "database" {
		t.Errorf("units started like %+v, want the slowest first", p.Starts)
	}
	if len(p.Processes) != 2 || p.Processes[0].Name != "dockerd" || p.Processes[0].Processes != 2 ||
		math.Abs(p.Processes[0].CPUShare-0.05) > 1e-9 {
		t.Errorf("its programs are %+v", p.Processes)
	}
}
