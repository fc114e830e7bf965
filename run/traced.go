package run

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// receiver returns a receiver for the spans of a trial at a point, or nil if its load asks for none.
func (e *experiment) receiver(p lab.Point) lab.SpanReceiver {
	if e.traceShare(p) == 0 {
		return nil
	}
	return e.Tracer.Receive()
}

// traceShare returns the share of the flows that are traced at a point.
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

// checkSpans returns an error if a setting asks its units for spans that could not reach this host.
func (e *experiment) checkSpans(s setting) error {
	mayTrace := slices.ContainsFunc(s.layout.Units, lab.UnitSpec.IsUsersProgram)
	asksForSpans := mayTrace && e.traceShare(s.point) > 0
	if s.deployer.Can().Spans || !asksForSpans {
		return nil
	}
	source, remedy := "--trace-share", "leave it out, or use"
	if _, set := s.point.Level(lab.FactorTraceShare); set { // cleave model sets it, and cannot do without spans
		source, remedy = lab.FactorTraceShare, "use"
	}
	return fmt.Errorf("%s: the spans of what the deployment %s starts do not come back to this host "+
		"(docs/traces.md says why): %s %s, %s, or the private %s or %s", source, s.deployer.Name(), remedy,
		lab.Process, lab.DockerBridge, lab.Swarm, lab.Kubernetes)
}

// closeSpans closes a receiver, which may be nil, and adds the traces that began during the job to the trial.
// It leaves out calls to services outside of the layout, because drawings of the layout do not show them.
func closeSpans(receiver lab.SpanReceiver, played Played, trial *lab.Trial) error {
	if receiver == nil {
		return nil
	}
	received, err := receiver.Close(played.Began, played.Ended)
	if received == nil {
		return err
	}
	trial.Traced = &received.TraceSet
	trial.Paths = received.Paths
	if received.Wrong != nil {
		trial.Remarks = append(trial.Remarks, fmt.Sprintf("spans may be missing: %v", received.Wrong))
	}
	withTraffic(trial.Parts, slices.DeleteFunc(received.Traffic, func(t lab.Traffic) bool {
		return !slices.ContainsFunc(trial.Parts, func(p lab.Part) bool { return p.Name == t.To })
	}))
	return err
}
