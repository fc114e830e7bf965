package lab

import (
	"strings"
	"testing"
)

// diskless is a deployer without a replicated disk.
type diskless struct{ Deployer }

func (diskless) Name() string      { return "diskless" }
func (diskless) Can() Capabilities { return Capabilities{} }

// replicating is a deployer with a replicated disk, whose nodes a layout gets if it needs the disk.
type replicating struct{ diskless }

func (replicating) Can() Capabilities {
	return Capabilities{
		Nodes: func(l Layout) []Node {
			if !l.OnReplicatedDisk() {
				return nil
			}
			return Nodes([]string{"brick-1"}, FaultKill)
		},
		Disk: func() string { return "stone" },
	}
}

// TestOnlySomeDeployersHaveAReplicatedDisk: a layout that needs the disk gets its nodes, or is refused.
func TestOnlySomeDeployersHaveAReplicatedDisk(t *testing.T) {
	local := Layout{Services: []ServiceSpec{{Name: "database"}}}
	replicated := Layout{Services: []ServiceSpec{{Name: "broker"}, {Name: "database", Replicated: true}}}
	for name, c := range map[string]struct {
		layout  Layout
		by      Deployer
		hasNode bool
		refusal string
	}{
		"local, without the disk":   {local, diskless{}, false, ""},
		"local, with the disk":      {local, replicating{}, false, ""},
		"replicated, with the disk": {replicated, replicating{}, true, ""},
		"replicated, without the disk": {replicated, diskless{}, false,
			"the deployment diskless has no replicated disk: deploy with process, or have disk local"},
	} {
		l, err := c.layout.On(c.by)
		_, has := l.Node("brick-1")
		if (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) ||
			has != c.hasNode {
			t.Errorf("%s: nodes %v, %v; want the node of the disk: %t, %q", name, l.Nodes, err, c.hasNode, c.refusal)
		}
	}
}
