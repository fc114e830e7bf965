package run

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// receiver returns a receiver of the spans of a trial at a point; nil where its load asks for none.
func (e *experiment) receiver(p lab.Point) lab.SpanReceiver {
	load := e.plan.Study.Load
	if e.Tracer == nil || load == nil {
		return nil
	}
	share := load.Client.TraceShare
	if own, set := p.Level(lab.FactorTraceShare); set {
		share = own
	}
	if share == 0 {
		return nil
	}
	return e.Tracer.Receive()
}

// closeSpans ends receiving and notes the traces of the operations that were played. Calls of services
// outside of the layout are left out: its picture does not have these.
func closeSpans(receiver lab.SpanReceiver, played Played, trial *lab.Trial) error {
	if receiver == nil {
		return nil
	}
	received, err := receiver.Close(played.Began, played.Ended)
	if received == nil {
		return err
	}
	trial.Traced, trial.Paths = &received.TraceSet, received.Paths
	withTraffic(trial.Parts, slices.DeleteFunc(received.Traffic, func(t lab.Traffic) bool {
		return !slices.ContainsFunc(trial.Parts, func(p lab.Part) bool { return p.Name == t.To })
	}))
	return err
}
