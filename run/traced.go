package run

import "github.com/cleave-lab/cleave/lab"

// receiver returns a receiver of a trial's spans; nil where the load asks for none.
func (e *experiment) receiver() lab.SpanReceiver {
	if load := e.plan.Study.Load; e.Tracer == nil || load == nil || load.Client.TraceShare == 0 {
		return nil
	}
	return e.Tracer.Receive()
}

// closeSpans ends receiving and notes what came of the operations that were played.
func closeSpans(receiver lab.SpanReceiver, played Played, trial *lab.Trial) (err error) {
	if receiver != nil {
		trial.Traced, err = receiver.Close(played.Began, played.Ended)
	}
	return err
}
