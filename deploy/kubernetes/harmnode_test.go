package kubernetes

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// TestNodesAreThereAfterAll: a node that was emptied, cut off or killed takes pods in the next trial, though
// its fault was not healed. Nor does it matter that Kubernetes takes the pods from one that is lost
// for minutes, which is done here at once.
func TestNodesAreThereAfterAll(t *testing.T) {
	d, _ := newDeployer(t)
	deploy := func(l lab.Layout) *deployment {
		t.Helper()
		made, err := d.Deploy(t.Context(), l, deploytest.Folder(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := made.Stop(); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
		return made.(*deployment)
	}
	node := d.Can().Nodes(lab.Layout{})[0].Name
	for _, kind := range containers.NodeFaults() {
		first := deploy(deploytest.Front())
		if _, err := first.Harm(t.Context(), lab.Fault{Target: node, Kind: kind}); err != nil {
			t.Fatal(err)
		}
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	there := deploytest.Front()
	there.Units[1].Node = node
	second := deploy(there)
	if _, err := second.Await(t.Context(), lab.EventReady); err != nil { // the front has had its first caller
		t.Fatal(err)
	}
	if _, err := second.Harm(t.Context(), lab.Fault{Target: node, Kind: lab.FaultKill, Heal: 400}); err != nil {
		t.Fatal(err)
	}
	// As its node controller does 300 s after it has noticed.
	if err := d.cluster.API.Do(t.Context(), http.MethodDelete,
		d.cluster.ours("pods", second.Named("front").name), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := second.Heal(t.Context(), lab.Fault{Target: node, Kind: lab.FaultKill}); err != nil {
		t.Fatal(err)
	}
	endpoint, err := second.Endpoint("front")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", endpoint.Dial)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(connection)
	if err != nil || string(text) != "front:2" {
		t.Errorf("front says %q (%v), want its second life", text, err)
	}
	if err := second.Failure(); err != nil {
		t.Errorf("the trial has failed: %v", err)
	}
}
