package run

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// receiving is the receiver of a trial's spans; without one it does nothing.
type receiving struct{ lab.SpanReceiver }

// receive has the programs of a layout send their spans, where the load asks for some and they run on this
// host's network. What a program's own environment says of it counts.
func (e *experiment) receive(v lab.Variant, layout lab.Layout) (lab.Layout, receiving, error) {
	load := e.plan.Study.Load
	here := v.Deployment == lab.Process || v.Deployment == lab.DockerHost
	if e.Tracer == nil || load == nil || load.Client.TraceShare == 0 || !here {
		return layout, receiving{}, nil
	}
	receiver, err := e.Tracer.Receive()
	if err != nil {
		return layout, receiving{}, err
	}
	layout.Units = slices.Clone(layout.Units)
	for i, unit := range layout.Units {
		if unit.Foreign && unit.Server == nil {
			layout.Units[i].Env = slices.Concat(receiver.Environment(), unit.Env)
		}
	}
	return layout, receiving{receiver}, nil
}

// close ends receiving and notes what came in the trial, which may be nil.
func (r receiving) close(trial *lab.Trial) error {
	if r.SpanReceiver == nil {
		return nil
	}
	received, err := r.Close()
	if err == nil && trial != nil {
		trial.Traced = &received
	}
	return err
}
