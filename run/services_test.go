package run

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// shop is a system that needs a database, and the backing that provides it.
type shop struct {
	rooms
	spec        lab.ServiceSpec
	log         []string          // calls, in order
	environment []string          // of every deployed unit, after its name
	missing     error             // result of the preflight of the backing
	broken      error             // of the start of the service
	stuck       error             // of its release
	audited     map[string]string // addresses that the audit got
}

func (s *shop) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	layout, err := s.rooms.Layout(v, p, seed)
	layout.Services = []lab.ServiceSpec{s.spec}
	layout.Units = append(layout.Units, lab.UnitSpec{Name: "theirs", Runnable: lab.Runnable{Foreign: true}})
	layout.Prepare = []lab.UnitSpec{{Name: "fill"}}
	return layout, err
}

func (s *shop) AuditLive(_ context.Context, _ lab.Variant, _ lab.Point, left lab.Leftover) lab.Audit {
	s.log = append(s.log, "audit")
	s.audited = left.Addresses
	if _, err := os.Stat(left.Dir); err != nil {
		return lab.Audit{Verdict: lab.AuditUnknown, Problems: []string{err.Error()}}
	}
	return lab.Audit{Verdict: lab.AuditValid}
}

func (s *shop) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	s.log = append(s.log, "deploy")
	for _, unit := range append(layout.Prepare, layout.Units...) {
		s.environment = append(s.environment, unit.Name+" "+strings.Join(unit.Env, " "))
	}
	return s.rooms.Deploy(ctx, layout, dir)
}

func (s *shop) Close() error { s.log = append(s.log, "close"); return nil }

// backing returns the backing of the shop's database.
func (s *shop) backing() lab.Backing {
	return lab.Backing{Kind: "mariadb", Preflight: func() error { return s.missing },
		Fresh: func(context.Context, lab.ServiceSpec, string) (lab.Service, error) {
			s.log = append(s.log, "fresh")
			return s.service(), s.broken
		}}
}

// service returns the shop's database.
func (s *shop) service() lab.Service {
	runs := lab.Runnable{Foreign: true, Server: &lab.Server{Kind: "mariadb"}}
	return lab.Service{
		Server:  &lab.UnitSpec{Name: "database", Role: "database", Runnable: runs},
		Address: func(at string) string { return "mariadb://u:secret@" + at + "/shop" },
		About:   func() string { return "MariaDB 10.11" },
		Release: func() error { s.log = append(s.log, "release"); return s.stuck },
	}
}

// newShop returns a shop with a conductor that plays it, deploys with it and takes its database from it.
func newShop(t *testing.T) (*shop, *Conductor) {
	s := &shop{spec: lab.ServiceSpec{Name: "database", Kind: "mariadb"}}
	c := s.rooms.conductor(t)
	c.System = s
	c.Deployers = map[string]lab.Deployer{"process": s}
	c.Backings = map[string]lab.Backing{"mariadb": s.backing()}
	return s, &c
}

func TestServicesOutliveTheUnitsUntilTheAudit(t *testing.T) {
	s, c := newShop(t)
	testset.Must(t, c.Play(t.Context(), plan(1)))
	if want := []string{"fresh", "deploy", "audit", "release", "close"}; !slices.Equal(s.log, want) {
		t.Errorf("order %v, want %v", s.log, want)
	}
	var phases []lab.PhaseName
	for _, phase := range s.saved[0].Phases {
		phases = append(phases, phase.Name)
	}
	want := []lab.PhaseName{lab.PhaseCalibration, lab.PhaseStart, lab.PhaseReady, lab.PhaseJob, lab.PhaseReports,
		lab.PhaseAudit, lab.PhaseStop, lab.PhaseCalibration}
	if !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	variable := " CLEAVE_SERVICE_DATABASE=mariadb://u:secret@{address:database}/shop"
	if want := []string{"fill" + variable, "one" + variable, "theirs ", "database "}; !slices.Equal(
		s.environment, want) {
		t.Errorf("environments %q, want %q", s.environment, want)
	}
	if s.audited["database"] != "mariadb://u:secret@127.0.0.1:3307/shop" ||
		s.saved[0].Services["database"] != "MariaDB 10.11" {
		t.Errorf("audited with %v, recorded as %v", s.audited, s.saved[0].Services)
	}
}

// TestUnitsReachTheServers checks that servers are peers of all our units, and units of the layout with the
// node and limits of their service.
func TestUnitsReachTheServers(t *testing.T) {
	s, _ := newShop(t)
	s.spec.Node = "near"
	s.spec.Limits = lab.Limits{CPU: 0.5}
	layout := lab.Layout{Services: []lab.ServiceSpec{s.spec}, Units: []lab.UnitSpec{
		{Name: "one", Networking: lab.Networking{Peers: []string{"two"}}},
		{Name: "theirs", Runnable: lab.Runnable{Foreign: true}}}}
	known, err := Services{"database": s.service()}.Introduce(layout)
	testset.Must(t, err)
	if !slices.Equal(known.Units[0].Peers, []string{"two", "database"}) || len(known.Units[1].Peers) > 0 ||
		known.Units[2].Name != "database" {
		t.Errorf("units %+v", known.Units)
	}
	if server := known.Units[2]; server.Node != "near" || server.Limits.CPU != 0.5 {
		t.Errorf("the server is on node %q with %s, want those of its service", server.Node, server.Limits)
	}
	layout.Units[0].Name = "database"
	if _, err := (Services{"database": s.service()}).Introduce(layout); err == nil ||
		!strings.Contains(err.Error(), "database is the name of a unit and of a backing service") {
		t.Errorf("a unit of the server's name: %v", err)
	}
}

func TestBackingsThatAreLacking(t *testing.T) {
	install := errors.New("install mariadb-server")
	for want, change := range map[string]func(*shop){
		"install mariadb-server":                            func(s *shop) { s.missing = install },
		`there is no backing "oracle"; there are [mariadb]`: func(s *shop) { s.spec.Kind = "oracle" },
	} {
		s, conductor := newShop(t)
		change(s)
		lacks, err := conductor.Lacks(t.Context(), plan(1))
		if err != nil || len(lacks) != 1 || lacks[0].Err.Error() != want {
			t.Errorf("%+v, %v, want %q", lacks, err, want)
		}
	}
}

func TestFailuresOfServices(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shop)
		want   string // in the error of Play
		reason string // of the trial
	}{
		"does not start": {func(s *shop) { s.broken = errors.New("port taken") }, "",
			"backing service database (mariadb): port taken"},
		"ends early": {func(s *shop) { s.spoil = map[int]error{1: errors.New("unit one died")} }, "",
			"unit one died"},
		"does not release": {func(s *shop) { s.stuck = errors.New("still runs") },
			"release the backing service database: still runs", ""},
	} {
		s, conductor := newShop(t)
		c.change(s)
		err := conductor.Play(t.Context(), plan(1))
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.reason != "" && (err != nil || s.saved[0].Valid || s.saved[0].Reason != c.reason) {
			t.Errorf("%s: error %v, trial %+v, want the reason %q", name, err, s.saved, c.reason)
		}
		if s.log[len(s.log)-1] != "close" {
			t.Errorf("%s: %v, want the deployer closed at the end", name, s.log)
		}
	}
}

// barrier lets two goroutines continue when both have arrived.
type barrier struct {
	arrived atomic.Int32
	all     chan struct{}
}

func (b *barrier) wait(ctx context.Context) error {
	if b.arrived.Add(1) == 2 {
		close(b.all)
	}
	select {
	case <-b.all:
		return nil
	case <-ctx.Done():
		return errors.New("the other goroutine did not arrive")
	}
}

func TestServicesStartAndEndAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start := &barrier{all: make(chan struct{})}
	end := &barrier{all: make(chan struct{})}
	both := lab.Backing{Fresh: func(ctx context.Context, _ lab.ServiceSpec, _ string) (lab.Service, error) {
		return lab.Service{Release: func() error { return end.wait(ctx) }}, start.wait(ctx)
	}}
	opened, err := OpenServices(ctx, map[string]lab.Backing{"mariadb": both},
		lab.Layout{Services: []lab.ServiceSpec{{Name: "one", Kind: "mariadb"}, {Name: "two", Kind: "mariadb"}}},
		t.TempDir())
	if err != nil || len(opened) != 2 {
		t.Fatalf("opened %v, error %v", opened, err)
	}
	if err := opened.Release(); err != nil {
		t.Error(err)
	}
}

func TestNoServiceStaysOpenWhereAnotherFails(t *testing.T) {
	s, c := newShop(t)
	layout := lab.Layout{Services: []lab.ServiceSpec{{Name: "database", Kind: "mariadb"},
		{Name: "broker", Kind: "oracle"}}}
	opened, err := OpenServices(t.Context(), c.Backings, layout, t.TempDir())
	if opened != nil || err == nil || !strings.Contains(err.Error(), "backing service broker (oracle): ") {
		t.Errorf("opened %v, error %v", opened, err)
	}
	if want := []string{"fresh", "release"}; !slices.Equal(s.log, want) {
		t.Errorf("%v, want %v", s.log, want)
	}
}
