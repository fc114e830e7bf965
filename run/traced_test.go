package run

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestSpansThatDoNotComeBackAreRefused checks that the error names the flag or the factor that asks for
// spans.
func TestSpansThatDoNotComeBackAreRefused(t *testing.T) {
	load := lab.Load{}
	load.Client.TraceShare = 1
	one := lab.UnitSpec{Name: "one", Runnable: lab.Runnable{Foreign: true}}
	s := setting{deployer: &rooms{}, layout: lab.Layout{Units: []lab.UnitSpec{one}}}
	e := &experiment{plan: lab.Plan{Study: lab.Study{Load: &load}}}
	for begins, levels := range map[string]map[string]float64{
		"--trace-share: the spans of what the deployment process starts do not come": nil,
		"trace_share: the spans of what the deployment process starts do not come":   {lab.FactorTraceShare: 0.5},
	} {
		s.point.Levels = levels
		err := e.checkSpans(s)
		if err == nil || !strings.HasPrefix(err.Error(), begins) ||
			strings.Contains(err.Error(), "leave it out") != (levels == nil) {
			t.Errorf("at a point with the levels %v: %v", levels, err)
		}
	}
	s.point.Levels = map[string]float64{lab.FactorTraceShare: 0}
	if err := e.checkSpans(s); err != nil {
		t.Errorf("at a point without spans: %v", err)
	}
}

// cutOff is a receiver that no unit could reach.
type cutOff struct{ lab.SpanReceiver }

func (cutOff) Close(time.Time, time.Time) (*lab.ReceivedTraces, error) {
	return &lab.ReceivedTraces{Wrong: errors.New("no way back")}, nil
}

// TestMissingSpansAreARemark checks that a failure to receive spans is a remark and no error.
func TestMissingSpansAreARemark(t *testing.T) {
	trial := lab.Trial{Remarks: []string{"slow"}}
	err := closeSpans(cutOff{}, Played{}, &trial)
	if err != nil || !slices.Equal(trial.Remarks, []string{"slow", "spans may be missing: no way back"}) {
		t.Errorf("the remarks are %q (%v)", trial.Remarks, err)
	}
}
