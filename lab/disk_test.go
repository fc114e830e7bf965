package lab

import (
	"strings"
	"testing"
)

// barrow is a deployer without a replicated disk, cellar one with such a disk.
type barrow struct{ Deployer }

func (barrow) Name() string      { return "barrow" }
func (barrow) Can() Capabilities { return Capabilities{} }

type cellar struct{ barrow }

func (cellar) Can() Capabilities {
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

func TestAReplicatedDiskIsADeployers(t *testing.T) {
	local, replicated := Layout{Services: []ServiceSpec{{Name: "database"}}},
		Layout{Services: []ServiceSpec{{Name: "broker"}, {Name: "database", Replicated: true}}}
	for name, c := range map[string]struct {
		layout Layout
		by     Deployer
		brick  bool
		says   string
	}{
		"needs none": {local, barrow{}, false, ""},
		"has one":    {replicated, cellar{}, true, ""},
		"does not": {replicated, barrow{}, false,
			"the deployment barrow has no replicated disk: deploy with process, or have disk local"},
		"does not mind": {local, cellar{}, false, ""},
	} {
		l, err := c.layout.On(c.by)
		_, is := l.Node("brick-1")
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) || is != c.brick {
			t.Errorf("%s: nodes %v, %v; want a brick: %t, %q", name, l.Nodes, err, c.brick, c.says)
		}
	}
}
