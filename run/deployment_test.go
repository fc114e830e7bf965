package run

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// plain implements the methods of a deployment that most tests do not need: its units are on this host, and
// faults are not supported.
type plain struct{}

func (plain) NodeOf(string) string                                    { return "" }
func (plain) Links() map[string]string                                { return nil }
func (plain) Clocks(context.Context) ([]lab.ClockReading, error)      { return nil, nil }
func (plain) Arrivals(context.Context, func(lab.Arrived) error) error { return nil }
func (plain) Meter() lab.Meter                                        { return nil }
func (plain) Accounts(_, _ time.Time) ([]lab.PlatformUsage, string)   { return nil, "" }
func (plain) PlatformCost() (cost lab.PlatformCost)                   { return cost }
func (plain) Daemons() ([]lab.Unit, string)                           { return nil, "" }
func (plain) EndForeign(context.Context) error                        { return nil }
func (plain) Heal(context.Context, lab.Fault) error                   { return errors.ErrUnsupported }
func (plain) Noticed(string) time.Duration                            { return 0 }
func (plain) Harm(context.Context, lab.Fault) (string, error) {
	return "", errors.New("the deployment supports no faults")
}

// deployment is a fake whose results are set in its rooms.
type deployment struct {
	*rooms
	plain
	layout  lab.Layout
	dir     string
	attempt int
	failed  chan struct{}
	failure error
}

// fail ends the deployment with the failure of a unit.
func (d *deployment) fail(err error) {
	d.failure = err
	close(d.failed)
}

func (d *deployment) Failed() <-chan struct{} { return d.failed }

func (d *deployment) Failure() error {
	select {
	case <-d.failed:
		return d.failure
	default:
		return nil
	}
}

func (d *deployment) Units() []lab.Unit {
	units := []lab.Unit{{Name: "one", PID: 1}}
	for _, spec := range d.layout.Units {
		if spec.Server != nil {
			units = append(units, lab.Unit{Name: spec.Name, Role: spec.Role, PID: 7})
		}
	}
	return units
}

func (d *deployment) Await(ctx context.Context, kind lab.EventKind) (lab.Event, error) {
	if err := ctx.Err(); err != nil {
		return lab.Event{}, context.Cause(ctx)
	}
	if kind == lab.EventFinished {
		return lab.Event{Event: kind, ElapsedSeconds: 2}, d.spoil[d.attempt]
	}
	return lab.Event{Event: kind}, nil
}

func (d *deployment) Command(lab.Command) error { return nil }

func (d *deployment) Reports(context.Context) ([]lab.UnitReport, error) { return nil, nil }

func (d *deployment) HandedOver() string { return d.dir }

func (d *deployment) Endpoint(string) (lab.Endpoint, error) {
	return lab.Endpoint{Bind: "198.18.0.10:3306", Dial: "127.0.0.1:3307"}, nil
}

func (d *deployment) Logs() map[string]string { return nil }

func (d *deployment) Stop() error {
	d.stopped++
	return errors.Join(d.stopError, os.RemoveAll(d.dir))
}
