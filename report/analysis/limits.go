package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// noteLoad adds what bounds conclusions about a system under load: where the
// generator was the limit, which rates were not held, that generator and system shared the
// processors of one host, and what units do when nobody asks.
func (e *experiment) noteLoad(a lab.Analysis) {
	if len(e.study.Metrics) == 0 {
		return
	}
	e.noteLimited()
	e.noteArrivals()
	e.noteClocks()
	e.noteUnheld(a.Curves)
	e.noteShared(a.Usages)
	e.noteIdle()
}

// noteLimited counts the attempts in which the generator was the limit.
func (e *experiment) noteLimited() {
	n, where := 0, []string{}
	for _, trial := range e.trials {
		if trial.Audit.Figures[lab.FigureLimited] < 1 {
			continue
		}
		n++
		where = appendNew(where, trial.Variant+" at "+trial.Point.Name)
	}
	if n > 0 {
		e.note("The generator, not the system, was the limit in %s (%s): what was measured there says nothing "+
			"about the system.", count(n, "trial"), strings.Join(where, ", "))
	}
}

// noteArrivals says when flows of an open loop were due where they were not spaced evenly.
func (e *experiment) noteArrivals() {
	open := slices.ContainsFunc(e.study.Points, func(p lab.Point) bool {
		_, open := offeredRate(p, nil)
		return open
	})
	if e.study.Load != nil && e.study.Load.Arrivals == lab.JitteredArrivals && open {
		e.note("Flows were due at random moments of even intervals (jittered arrivals): evenly spaced ones keep " +
			"in step with timers of a system, which shifts its times.")
	}
}

// appendNew appends a text that is not there yet.
func appendNew(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// noteUnheld names the rates that a variant did not hold.
func (e *experiment) noteUnheld(curves []lab.Curve) {
	var where []string
	for _, curve := range curves {
		for _, p := range curve.Points {
			if !p.Held {
				where = appendNew(where, fmt.Sprintf("%s at %s (%s/s)", curve.Variant, p.Point,
					lab.Plain(p.Offered)))
			}
		}
	}
	if len(where) > 0 {
		e.note("Rates that were not held: %s. Response times there depend on how long the load lasts: they are "+
			"hollow in the plots and no property of the system.", strings.Join(where, ", "))
	}
}

// processors is the fact that counts the processors of the host.
const processors = "cores_online"

// noteShared says how much of the host the generator took from the system.
func (e *experiment) noteShared(usages []lab.RoleUsage) {
	system := map[string]bool{} // the system ran on this host: its roles were metered
	for _, u := range usages {
		if u.Role != lab.RoleGenerator {
			system[u.Variant] = true
		}
	}
	shared := slices.DeleteFunc(slices.Clone(usages), func(u lab.RoleUsage) bool {
		return u.Role != lab.RoleGenerator || u.CPUShare <= 0 || !system[u.Variant]
	})
	if len(shared) == 0 {
		return
	}
	byShare := func(x, y lab.RoleUsage) int { return cmp.Compare(x.CPUShare, y.CPUShare) }
	least, most := slices.MinFunc(shared, byShare), slices.MaxFunc(shared, byShare)
	host := "the processors of one host"
	if cores, ok := asNumber(e.in.Environment[processors].Value); ok && cores > 0 {
		host = "the " + count(int(cores), "processor") + " of one host"
	}
	e.note("Generator and system share %s: the generator used from %s of one processor (%s at %s) to %s (%s "+
		"at %s), which the system did not have. "+
		"Capacities are lower than on a host of the system's own, and a variant that answers more keeps the "+
		"generator busier: near saturation that is unfair to the faster one.",
		host, figure.Percent(least.CPUShare), least.Variant, least.Point.Name, figure.Percent(most.CPUShare),
		most.Variant, most.Point.Name)
}

// asNumber reads a fact as a number: whole in memory, a float after JSON.
func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int:
		return float64(value), true
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}
