package assembly

import (
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// TestAUnitChoosesReplicasByItsKnob, also those that the shop's own knob makes.
func TestAUnitChoosesReplicasByItsKnob(t *testing.T) {
	design, err := architecture.New(architecture.Sync, map[string]string{
		architecture.KnobReplicas: "inventory=2", kit.KnobBalancing: kit.LeastRequests})
	testset.Must(t, err)
	u, err := newUnit(design, shop.ComponentOrders, shop.ComponentOrders, Place{
		Service: func(string) (string, error) { return "sqlite://" + t.TempDir(), nil },
		Peer: func(instance string) (string, error) {
			if instance != "inventory-1" && instance != "inventory-2" {
				return "", errors.New("there is no such unit")
			}
			return "127.0.0.1:9", nil
		}})
	testset.Must(t, err)
	u.call(shop.ComponentInventory)
	if by := u.Calls.Balancing; u.callees.err != nil || by != rpc.LeastRequests {
		t.Errorf("error %v, replicas are chosen by %v", u.callees.err, by)
	}
	if err := u.Close(); err != nil {
		t.Error(err)
	}
}
