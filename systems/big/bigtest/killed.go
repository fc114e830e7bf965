package bigtest

import (
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// KilledWorker kills a worker in the middle of a trial, which must then fail
// instead of ending as if nothing were missing.
func KilledWorker(t *testing.T, architecture string) {
	d := Start(t, Trial{Architecture: architecture, Neighbourhoods: 2, Workers: 3, Pings: 10_000_000})
	if _, err := d.Await(lab.EventReady); err != nil {
		t.Fatal(err)
	}
	testset.Must(t, d.Command(lab.CommandStart))
	testset.Must(t, d.Kill("worker-00004"))
	event, err := d.Await(lab.EventFinished)
	if err == nil {
		t.Fatalf("the trial finished without a worker: %+v", event)
	}
	t.Log(err)
}
