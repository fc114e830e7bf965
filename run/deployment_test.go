package run

import (
	"context"
	"errors"
	"os"

	"github.com/cleave-lab/cleave/lab"
)

// deployment is a stand-in: it goes as its rooms say.
type deployment struct {
	*rooms
	layout  lab.Layout
	dir     string
	attempt int
	failed  chan struct{}
	failure error
}

// fail has a unit fail.
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
