package lab

import (
	"slices"
	"strings"
	"testing"
)

// barrow is a deployer without a replicated disk, cellar one that has one.
type barrow struct{ Deployer }

func (barrow) Name() string { return "barrow" }

type cellar struct{ barrow }

func (cellar) Replicates() error { return nil }
func (cellar) Bricks() (names []string, f []FaultKind) {
	return []string{"brick-1"}, []FaultKind{FaultKill}
}
func (cellar) DiskAbout() string { return "stone" }

func TestAReplicatedDiskIsADeployers(t *testing.T) {
	local, replicated := Layout{Services: []ServiceSpec{{Name: "database"}}}, Layout{Services: []ServiceSpec{{Name: "broker"}, {Name: "database", Replicated: true}}}
	for name, c := range map[string]struct {
		layout Layout
		by     Deployer
		nodes  []string
		says   string
	}{
		"needs none":    {local, barrow{}, nil, ""},
		"has one":       {replicated, cellar{}, []string{"brick-1"}, ""},
		"does not":      {replicated, barrow{}, nil, "the deployment barrow has no replicated disk: deploy with process, or have disk local"},
		"does not mind": {local, cellar{}, nil, ""},
	} {
		l, err := c.layout.ReplicatedBy(c.by)
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) || !slices.Equal(l.Nodes, c.nodes) {
			t.Errorf("%s: nodes %v, %v; want %v, %q", name, l.Nodes, err, c.nodes, c.says)
		}
	}
}
