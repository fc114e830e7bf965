package fleet

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestStartsAreUntilUnitsCanBeUsed checks when a start is over: for the lead with its event, for a server
// with the first successful visit, for others with the empty line of a program that has opened its control
// connection. A unit whose program has not, and a foreign unit without a check, have no start time.
func TestStartsAreUntilUnitsCanBeUsed(t *testing.T) {
	server := foreign("database", lab.Lifecycle{})
	server.Server = &lab.Server{Kind: "mariadb"}
	specs := []lab.UnitSpec{{Name: "lead"}, {Name: "front"}, {Name: "stuck"}, server,
		foreign("proxy", lab.Lifecycle{})}
	s := NewSupervisor(lab.Layout{Lead: "lead", Units: specs}, filepath.Join(t.TempDir(), "handed"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	units := map[string]*Unit{}
	events := map[string]*io.PipeWriter{}
	for _, spec := range specs {
		u := NewUnit(spec)
		from, to := io.Pipe()
		t.Cleanup(func() { _ = to.Close() })
		units[spec.Name] = u
		events[spec.Name] = to
		s.Add(u)
		go s.HandleEvents(u, from)
	}
	const late = 60 * time.Millisecond
	time.Sleep(late)
	for _, opened := range []string{"front", "proxy"} {
		_, err = events[opened].Write([]byte("\n"))
		testset.Must(t, err)
	}
	err = AwaitVisit(t.Context(), units["database"], listener.Addr().String(),
		func(context.Context, string) error { return nil })
	testset.Must(t, err)
	testset.Must(t, json.NewEncoder(events["lead"]).Encode(lab.Event{Event: lab.EventReady}))
	if _, err := s.Await(t.Context(), lab.EventReady); err != nil {
		t.Fatal(err)
	}
	cost := s.Starts()
	took := map[string]float64{}
	for _, start := range cost.Starts {
		took[start.Unit] = start.Seconds
	}
	if len(took) != 3 || took["lead"] < late.Seconds() || took["database"] < late.Seconds() ||
		took["front"] < late.Seconds() {
		t.Errorf("units took %v, want lead, database and front, each %v or more", took, late)
	}
	if cost.ReadySeconds < took["lead"] {
		t.Errorf("all took %g s, the lead alone %g", cost.ReadySeconds, took["lead"])
	}
}
