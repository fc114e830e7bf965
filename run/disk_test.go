package run

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// diskDeployer is a deployer with a replicated disk.
type diskDeployer struct{ *faultyShop }

func (d diskDeployer) Can() lab.Capabilities {
	can := d.faultyShop.Can()
	can.Disk = func() string { return "stone, 3 copies" }
	return can
}

// TestServicesOnAReplicatedDisk checks that the volume of a server, or the folder of an embedded service, is
// on the replicated disk if the service asks for it.
func TestServicesOnAReplicatedDisk(t *testing.T) {
	s, _ := newShop(t)
	for _, replicated := range []bool{true, false} {
		s.spec.Replicated = replicated
		layout := lab.Layout{Services: []lab.ServiceSpec{s.spec}}
		served, err := Services{"database": s.service()}.Introduce(layout)
		if err != nil || served.Units[0].Replicated != replicated || len(served.Replicated) > 0 {
			t.Errorf("a server: %+v (%v)", served, err)
		}
		folder := lab.Service{Folder: "/trial/database", Address: s.service().Address}
		within, err := Services{"database": folder}.Introduce(layout)
		if err != nil || slices.Contains(within.Replicated, "/trial/database") != replicated {
			t.Errorf("a folder: %v (%v), want it listed: %v", within.Replicated, err, replicated)
		}
	}
}

// TestTheRecordNamesTheDisk checks that the description of a service names its replicated disk.
func TestTheRecordNamesTheDisk(t *testing.T) {
	s, c, p := newFaultyShop(t)
	s.spec.Replicated = true
	c.Deployers["process"] = diskDeployer{s}
	p.Study.Faults = nil
	testset.Must(t, c.Play(t.Context(), p))
	if got := s.saved[0].Services["database"]; got != "MariaDB 10.11, on stone, 3 copies" {
		t.Errorf("recorded as %q", got)
	}
}

// TestReplicatedDiskIsRefused checks the errors for a replicated disk that a deployer does not have, and for
// a fault that fills a replicated disk.
func TestReplicatedDiskIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*faultyShop, *Conductor, *lab.Plan)
		want   string
	}{
		"no such disk": {func(_ *faultyShop, _ *Conductor, p *lab.Plan) { p.Study.Faults = nil },
			"has no replicated disk: deploy with process"},
		"full": {func(s *faultyShop, c *Conductor, p *lab.Plan) {
			c.Deployers["process"] = diskDeployer{s}
			p.Study.Faults = []lab.Fault{{Target: "database", Kind: lab.FaultFill}}
		}, "a replicated disk, which cannot become full alone: use disk local"},
	} {
		s, conductor, p := newFaultyShop(t)
		s.spec.Replicated = true
		c.change(s, conductor, &p)
		s.expectRefused(t, name, conductor, p, c.want)
	}
}

// TestABrickIsOneTarget checks that a brick of the replicated disk, which is both a node and a unit of the
// deployment, is only one target of faults.
func TestABrickIsOneTarget(t *testing.T) {
	s, _, _ := newFaultyShop(t)
	d, err := s.Deploy(t.Context(), lab.Layout{}, t.TempDir())
	testset.Must(t, err)
	name := d.Units()[0].Name
	var found []string
	for _, target := range targets(d, lab.Layout{Nodes: lab.Nodes([]string{name, "node-2"})}, nil) {
		found = append(found, target.Name)
	}
	if slices.Sort(found); len(slices.Compact(slices.Clone(found))) != len(found) ||
		!slices.Contains(found, "node-2") {
		t.Errorf("targets %q", found)
	}
}
