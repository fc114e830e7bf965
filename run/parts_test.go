package run

import (
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// placed is a deployment that implements only NodeOf.
type placed struct {
	lab.Deployment
	nodes map[string]string
}

func (p placed) NodeOf(unit string) string { return p.nodes[unit] }

func TestPartsOfALayout(t *testing.T) {
	layout := lab.Layout{
		Services: []lab.ServiceSpec{{Name: "database", Kind: "mariadb"}, {Name: "documents", Kind: "sqlite"}},
		Units: []lab.UnitSpec{
			{Name: "shop-1", Role: "shop", Networking: lab.Networking{Peers: []string{"shop-2"}}},
			{Name: "shop-2", Role: "shop", Networking: lab.Networking{Peers: []string{"shop-1"}}},
			{Name: "balancer", Role: "balancer", Runnable: lab.Runnable{Foreign: true},
				Networking: lab.Networking{Peers: []string{"shop-1", "shop-2"}}},
			{Name: "generator", Role: "generator", Networking: lab.Networking{Peers: []string{"shop-1"},
				Uses: []lab.Use{{To: "balancer", How: "requests"}}}},
		},
	}
	got := Services{"database": {Server: &lab.UnitSpec{Name: "database-server"}}, "documents": {}}.parts(layout,
		placed{nodes: map[string]string{"shop-1": "front", "shop-2": "back", "database-server": "front"}})
	withTraffic(got, []lab.Traffic{
		{From: "shop", To: "database", What: "statements", PerOperation: 2},
		{From: "shop", To: "database", What: "statements", PerOperation: 3}, // of the other shop
		{From: "balancer", To: "documents", What: "calls", PerOperation: 1},
		{From: "balancer", To: "database", What: "calls"},
		{From: "nobody", To: "database", What: "calls", PerOperation: 1},
	})
	want := []lab.Part{
		{Name: "shop", Units: 2, Node: "front, back", Links: []lab.Link{
			{To: "shop"}, {To: "database", Traffic: map[string]float64{"statements": 5}}, {To: "documents"}}},
		{Name: "balancer", Units: 1, Links: []lab.Link{{To: "shop"},
			{To: "documents", Traffic: map[string]float64{"calls": 1}}}},
		{Name: "generator", Units: 1, Links: []lab.Link{{To: "balancer", How: "requests"}}},
		{Name: "database", Units: 1, Service: "mariadb", Node: "front"},
		{Name: "documents", Service: "sqlite", Embedded: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
