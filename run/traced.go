package run

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// receiver returns a receiver of the spans of a trial at a point; nil where its load asks for none.
func (e *experiment) receiver(p lab.Point) lab.SpanReceiver {
	if e.Tracer == nil || e.traceShare(p) == 0 {
		return nil
	}
	return e.Tracer.Receive()
}

// traceShare returns the share of the flows at a point whose services are asked for spans.
func (e *experiment) traceShare(p lab.Point) float64 {
	load := e.plan.Study.Load
	if load == nil {
		return 0
	}
	if own, set := p.Level(lab.FactorTraceShare); set {
		return own
	}
	return load.Client.TraceShare
}

// checkSpans refuses to ask the units of a setting for spans where no receiver would get these.
func (e *experiment) checkSpans(s setting) error {
	if s.deployer.Can().Spans || e.traceShare(s.point) == 0 ||
		!slices.ContainsFunc(s.layout.Units, lab.UnitSpec.MayTrace) {
		return nil
	}
	source, remedy := "--trace-share", "leave it out, or use"
	if _, set := s.point.Level(lab.FactorTraceShare); set { // as cleave model does, which needs spans
		source, remedy = lab.FactorTraceShare, "use"
	}
	return fmt.Errorf("%s: the spans of what the deployment %s starts do not come back to this host "+
		"(docs/traces.md says why): %s %s, %s, or the private %s or %s", source, s.deployer.Name(), remedy,
		lab.Process, lab.DockerBridge, lab.Swarm, lab.Kubernetes)
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
	if received.Wrong != nil {
		trial.Remarks = append(trial.Remarks, fmt.Sprintf("spans may be missing: %v", received.Wrong))
	}
	withTraffic(trial.Parts, slices.DeleteFunc(received.Traffic, func(t lab.Traffic) bool {
		return !slices.ContainsFunc(trial.Parts, func(p lab.Part) bool { return p.Name == t.To })
	}))
	return err
}
