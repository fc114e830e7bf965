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

// Report counts the calls of a unit since it was started.
type Report struct {
	// Asked are the calls that its components asked for, and Attempts what was sent for them.
	Asked    int64 `json:"asked,omitempty"`
	Attempts int64 `json:"attempts,omitempty"`
	// Spans are those that the unit made of traced requests.
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

// Report hands over the spans of the unit, and reports.
func (u *Unit) Report(channel *unit.Channel) error {
	if err := HandOverSpans(channel, u.Spans); err != nil {
		return err
	}
	return channel.Report(ReportOf(u.Calls.Guards, u.Spans))
}

// Reports reads the reports of a system's units, each of its last life. The generator's is left out, and
// proxies have none.
func Reports[R any](reports []lab.UnitReport) (all []R, err error) {
	for _, r := range reports {
		if r.Unit == lab.RoleGenerator || len(r.Data) == 0 {
			continue
		}
		var said R
		if err := json.Unmarshal(r.Data, &said); err != nil {
			return nil, fmt.Errorf("report of unit %s: %w", r.Unit, err)
		}
		all = append(all, said)
	}
	return all, nil
}

// AddAmplification adds how many attempts units have sent for each call, if they made calls.
func AddAmplification(values map[string]float64, reports []lab.UnitReport) error {
	units, err := Reports[Report](reports)
	var asked, attempts int64
	for _, said := range units {
		asked, attempts = asked+said.Asked, attempts+said.Attempts
	}
	if asked > 0 {
		values[kit.QuantityAmplification] = float64(attempts) / float64(asked)
	}
	return err
}
