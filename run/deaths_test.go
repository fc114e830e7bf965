package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// mortalShop is a shop with a unit that fails at a step of the first attempt.
type mortalShop struct {
	*shop
	fails    string // the step at which the unit fails: "ready", "finished", "reports" or "audit"
	attempts int
	running  *deployment
}

// reach makes the unit fail if this is the step at which it shall fail. Then it blocks until ctx ends, as a
// client of a dead unit would, and returns the error of that client.
func (m *mortalShop) reach(ctx context.Context, where string) error {
	if m.fails != where || m.attempts > 1 {
		return nil
	}
	m.running.fail(errors.New("mariadb ended: signal: killed"))
	<-ctx.Done()
	return errors.New("no answer from the database")
}

func (m *mortalShop) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	if err := m.reach(ctx, "audit"); err != nil {
		return lab.Audit{Verdict: lab.AuditUnknown, Problems: []string{err.Error()}}
	}
	return m.shop.AuditLive(ctx, v, p, left)
}

func (m *mortalShop) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	m.attempts++
	running, err := m.shop.Deploy(ctx, layout, dir)
	m.running = running.(*deployment)
	return mortalDeployment{m.running, m}, err
}

type mortalDeployment struct {
	*deployment
	of *mortalShop
}

func (d mortalDeployment) Await(ctx context.Context, kind lab.EventKind) (lab.Event, error) {
	if err := d.of.reach(ctx, string(kind)); err != nil {
		return lab.Event{}, err
	}
	return d.deployment.Await(ctx, kind)
}

func (d mortalDeployment) Reports(ctx context.Context) ([]lab.UnitReport, error) {
	return nil, d.of.reach(ctx, "reports")
}

// TestTheFailureOfAUnitEndsTheTrial checks that the failure of a unit at any step ends the trial and is its
// reason, and that the next attempt has fresh units and services.
func TestTheFailureOfAUnitEndsTheTrial(t *testing.T) {
	for _, fails := range []string{"ready", "finished", "reports", "audit"} {
		t.Run(fails, func(t *testing.T) {
			s, c := newShop(t)
			m := &mortalShop{shop: s, fails: fails}
			c.System = m
			c.Deployers = map[string]lab.Deployer{"process": m}
			p := plan(1)
			p.Study.Design.MaxRepeats = 1
			p.Study.Design.TrialTimeout = time.Hour.Seconds()
			testset.Must(t, c.Play(t.Context(), p))
			if len(s.saved) != 2 || s.saved[0].Valid || s.saved[0].Reason != "mariadb ended: signal: killed" {
				t.Fatalf("trials %+v, want one that names the dead and one more", s.saved)
			}
			if !s.saved[1].Valid || m.attempts != 2 || strings.Count(strings.Join(s.log, " "), "release") != 2 {
				t.Errorf("the second attempt: %q, %d deployments, %v", s.saved[1].Reason, m.attempts, s.log)
			}
		})
	}
}

// blind is a meter that cannot read its units because their processes are gone.
type blind struct{ metering }

func (blind) Watch(context.Context, []lab.Unit) (lab.Metering, error) { return blind{}, nil }

func (blind) Mark() error { return fmt.Errorf("unit balancer has gone: %w", os.ErrProcessDone) }

// TestTheDeployersReasonReplacesTheMetersError checks that the reason of a trial whose unit has ended is that
// of the deployer, or the meter's error if the deployer has none.
func TestTheDeployersReasonReplacesTheMetersError(t *testing.T) {
	r := &rooms{spoil: map[int]error{1: errors.New("unit balancer ended by signal: killed")}}
	c := r.conductor(t)
	c.Meter = blind{}
	testset.Must(t, c.Play(t.Context(), plan(1)))
	want := []string{"1/1 unit balancer ended by signal: killed",
		"1/2 meter: unit balancer has gone: os: process already finished"}
	r.expectVerdicts(t, want)
}
