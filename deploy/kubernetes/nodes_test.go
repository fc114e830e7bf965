package kubernetes

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestNodesCanBeUsedAfterFaults checks that a node that was drained, cut off or killed takes pods in the next
// trial, although its fault was not healed; and that a unit starts again on a node that is healed after
// Kubernetes has deleted its pod, which it does to the pods of a node that is lost for minutes.
func TestNodesCanBeUsedAfterFaults(t *testing.T) {
	d, _ := newDeployer(t)
	deploy := func(l lab.Layout) *deployment {
		t.Helper()
		made := deploytest.Deploy(t, d, l)
		t.Cleanup(func() { deploytest.NoError(t, made.Stop()) })
		return made.(*deployment)
	}
	node := d.Can().Nodes(lab.Layout{})[0].Name
	for _, kind := range containers.NodeFaults() {
		first := deploy(deploytest.Layout("front"))
		if _, err := first.Harm(t.Context(), lab.Fault{Target: node, Kind: kind}); err != nil {
			t.Fatal(err)
		}
		testset.Must(t, first.Stop())
	}
	there := deploytest.Layout("front")
	there.Units[1].Node = node
	second := deploy(there)
	deploytest.Await(t, second, lab.EventReady) // the front has had its first caller
	if _, err := second.Harm(t.Context(), lab.Fault{Target: node, Kind: lab.FaultKill, Heal: 400}); err != nil {
		t.Fatal(err)
	}
	// The node controller does this 300 s after it has noticed the loss.
	testset.Must(t, d.cluster.API.Do(t.Context(), http.MethodDelete,
		d.cluster.ours("pods", second.Named("front").name), nil, nil))
	testset.Must(t, second.Heal(t.Context(), lab.Fault{Target: node, Kind: lab.FaultKill}))
	endpoint, err := second.Endpoint("front")
	testset.Must(t, err)
	connection, err := net.Dial("tcp", endpoint.Dial)
	testset.Must(t, err)
	text, err := io.ReadAll(connection)
	if err != nil || string(text) != "front:2" {
		t.Errorf("front says %q (%v), want its second life", text, err)
	}
	if err := second.Failure(); err != nil {
		t.Errorf("the trial has failed: %v", err)
	}
}
