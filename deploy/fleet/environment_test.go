package fleet

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestAUnitGetsTheAddressesOfAllReplicasOfAPeer(t *testing.T) {
	layout, err := lab.Variant{Replicas: map[string]int{"milk": 2}}.Scale(lab.Layout{Units: []lab.UnitSpec{
		{Name: "front", Networking: lab.Networking{Peers: []string{"milk"}}},
		{Name: "milk", Placement: lab.Placement{Scalable: true}},
	}})
	testset.Must(t, err)
	got := Environment(layout.Units[0], "run", "/dir",
		map[string]lab.Endpoint{"milk": {Dial: "127.0.0.1:1"}, "milk-2": {Dial: "127.0.0.1:2"}})
	want := []string{"CLEAVE_RUN=run", "CLEAVE_UNIT=front", "CLEAVE_DIR=/dir/front",
		"CLEAVE_ADDRESS_MILK_2=127.0.0.1:2", "CLEAVE_ADDRESS_MILK=127.0.0.1:1,127.0.0.1:2"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
}
