package hosting

import (
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/unit"
)

// Report counts the calls that a unit has made since it was started.
type Report struct {
	// Asked counts the calls of its components to other units, and Attempts the requests that were sent for
	// them: more with retries, fewer with an open breaker.
	Asked    int64 `json:"asked,omitempty"`
	Attempts int64 `json:"attempts,omitempty"`
	// Spans counts the spans that the unit made of traced requests.
	Spans spans.Counts `json:"spans"`
}

// ReportOf returns the report of a unit. Its guards and its tracer may be nil.
func ReportOf(guards *resilient.Guards, tracer *spans.Provider) (r Report) {
	r.Asked, r.Attempts = guards.Counts()
	if tracer != nil {
		r.Spans = tracer.Counts()
	}
	return r
}

// Report hands over the spans of the unit and sends its Report.
func (u *Unit) Report(channel *unit.Channel) error {
	if err := u.HandOverSpans(channel); err != nil {
		return err
	}
	return channel.Report(ReportOf(u.Calls.Guards, u.Spans))
}

// HandOverSpans writes the spans of the unit to a file in its folder and hands the file over. If the unit
// makes no spans it does nothing. The file is called after the replica: replicas may share the name of the
// unit, but no two units may hand over files of the same name.
func (u *Unit) HandOverSpans(channel *unit.Channel) error {
	if u.Spans == nil {
		return nil
	}
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	replica, err := unit.Name()
	if err != nil {
		return err
	}
	if err := u.Spans.Write(dir, replica); err != nil {
		return err
	}
	return channel.HandOver(spans.File(dir, replica))
}

// Reports returns the decoded reports of a system's units. reports has only the last one of a restarted unit.
// Reports leaves out the generator, and proxies, which have none.
func Reports[R any](reports []lab.UnitReport) (all []R, err error) {
	for _, r := range reports {
		if r.Unit == lab.RoleGenerator || len(r.Data) == 0 {
			continue
		}
		var report R
		if err := json.Unmarshal(r.Data, &report); err != nil {
			return nil, fmt.Errorf("report of unit %s: %w", r.Unit, err)
		}
		all = append(all, report)
	}
	return all, nil
}

// AddAmplification adds the metric kit.Amplification, the attempts of all units per call, if there were
// calls.
func AddAmplification(values map[string]float64, reports []lab.UnitReport) error {
	units, err := Reports[Report](reports)
	var asked, attempts int64
	for _, u := range units {
		asked, attempts = asked+u.Asked, attempts+u.Attempts
	}
	if asked > 0 {
		values[kit.QuantityAmplification] = float64(attempts) / float64(asked)
	}
	return err
}
