package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/systems/external"
	"github.com/cleave-lab/cleave/traces"
)

// modelRun makes the model of a system from the result folder of its trials, and writes it (writeModel). The
// operations are traced at the rate of the first point, so CPU time and stores are those of the metered
// trials at this point. The trials at the other points only add measurements to check predictions with.
func (a app) modelRun(folder *store.Folder, out string) error {
	plan, err := folder.Plan()
	if err != nil {
		return err
	}
	if plan.Study.Name != modelName || len(plan.Study.Points) < 2 || plan.Study.Load == nil {
		return withCode(exitBadPlan, "%s holds the study %s: models are made of the trials of cleave model",
			folder.Dir(), plan.Study.Name)
	}
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	s := plan.Study
	low, foreign := s.Points[0], s.System == external.Name
	perFlow, owned := modelling(s)
	from := model.Evidence{Name: s.System, Transactions: !foreign}
	var metered []lab.Trial
	for _, t := range trials {
		m, known := model.OfTrial(t, s.Metrics)
		if !t.Valid || t.Variant != meteredVariant || !known {
			continue
		}
		m.Rate *= perFlow
		if foreign || m.Users > 0 { // a point of a foreign system has a rate of flows, and one with users has none
			m.Rate = float64(m.Time.N) / s.Load.Duration
		}
		from.Measured = append(from.Measured, m)
		if t.Point.Name == low.Name {
			metered = append(metered, t)
		}
	}
	if len(metered) == 0 {
		return withCode(exitFailed, "no metered trial at %s counts: cleave report %s says why, and "+
			"docs/trials.md what to do", low.Name, shell.Quote(folder.Dir()))
	}
	warmUp := s.Load.WarmUp
	if foreign { // the received spans do not include the warm-up
		from.Name = s.Title
		warmUp = 0
	} else {
		from.StoreOf = storeOf(metered[0].Parts, owned)
	}
	received, err := a.addFollowed(&from, folder.Path(spansFolder), trials, warmUp)
	from.About = originOf(plan, perFlow, len(from.Traces) > 0)
	if err == nil && len(from.Traces) == 0 {
		err = a.addCallsOfLoad(&from, folder, trials, metered, s, received)
	}
	if err != nil {
		return err
	}
	from.CPU = cpuByRole(metered, s.Metrics)
	if foreign {
		from.CPU = byService(from.CPU, from.Traces)
	}
	return a.writeModel(from, out)
}

// modelling returns the number of operations per flow of the system of a study, and whether each of its
// components has its own store.
func modelling(s lab.Study) (perFlow float64, owned bool) {
	system, ours := systemNamed[lab.Modelled](s.System, systemSettings{})
	if !ours {
		return 1, false
	}
	about := system.Modelling()
	v, _ := s.Variant(meteredVariant)
	return about.PerFlow, about.Owned(v)
}

// originOf returns a sentence that says how a model was made: the rates of the measurements, and the date. Of
// a system of the user perFlow is 1, and the rates are those of flows.
func originOf(plan lab.Plan, perFlow float64, spans bool) string {
	s, counted := plan.Study, "operations"
	if s.System == external.Name {
		counted = "flows"
	}
	text := fmt.Sprintf("%s, metered at %s %s per second and followed at %s", s.Title, meteredRates(s, perFlow),
		counted, lab.Plain(s.Points[0].Levels[lab.FactorRate]*perFlow))
	if !spans {
		text += ", without spans"
	}
	return text + ", " + plan.Created.Format(time.DateOnly)
}

// meteredRates lists the rates at which a system was metered, in operations per second.
func meteredRates(s lab.Study, perFlow float64) string {
	v, _ := s.Variant(meteredVariant)
	var rates []string
	for _, p := range s.Points {
		rate, paced := p.Level(lab.FactorRate)
		if paced && v.RunsAt(p.Name) {
			rates = append(rates, lab.Plain(rate*perFlow))
		}
	}
	return figure.And(rates)
}

// addFollowed adds the traces of the valid trials of followedVariant, without those of their warm-ups. It
// reports whether there were spans, if only of incomplete traces. A folder has the spans of one trial: the
// last that started before its first span. If none did, as the clocks of hosts differ, the folder is used.
func (a app) addFollowed(
	to *model.Evidence, spans string, trials []lab.Trial, warmUp float64,
) (received bool, err error) {
	dirs, _ := fs.Glob(os.DirFS(spans), "*-"+followedVariant+"-*") // the pattern is valid
	trials = slices.DeleteFunc(slices.Clone(trials),
		func(t lab.Trial) bool { return t.Variant != followedVariant })
	for _, dir := range dirs {
		path := filepath.Join(spans, dir)
		set, err := traces.Read(path, lab.ComponentAttribute)
		if errors.Is(err, traces.ErrNone) {
			continue
		}
		if err != nil {
			return received, err
		}
		trees := a.completeTraces(path, set)
		first := slices.MinFunc(set.Spans, func(a, b traces.Span) int {
			return cmp.Compare(a.Start, b.Start)
		}).Start
		of := lab.Trial{Valid: true}
		for _, t := range trials {
			if t.Started.After(of.Started) && !t.Started.After(time.Unix(0, first)) {
				of = t
			}
		}
		if !of.Valid {
			continue
		}
		received = true
		to.DroppedSpans += set.Dropped
		to.Traces = append(to.Traces, slices.DeleteFunc(trees, func(t *lab.SpanNode) bool {
			return float64(t.Start-first) < warmUp*1e9
		})...)
	}
	return received, nil
}

// addCallsOfLoad adds traces for a system of the user that has no complete ones: one for every operation that
// the load sent. Each operation is one call of the unit that the clients reach. The call is as long as the
// median response time of the operation in its trial. received says that there were spans.
func (a app) addCallsOfLoad(to *model.Evidence, folder *store.Folder, all, metered []lab.Trial, s lab.Study,
	received bool,
) error {
	if !slices.ContainsFunc(all, func(t lab.Trial) bool { return t.Valid && t.Variant == followedVariant }) {
		return withCode(exitFailed, "no trial whose operations were followed counts: cleave report %s says why, "+
			"and docs/trials.md what to do", shell.Quote(folder.Dir()))
	}
	missing := "no spans came from the trials whose operations were followed: are the services " +
		"instrumented, and do they follow OTEL_EXPORTER_OTLP_ENDPOINT (docs/traces.md)?"
	if received {
		missing = "spans came, but all traces after the warm-up lack some: do all services send their spans, and " +
			"pass the trace context on (docs/traces.md)?"
	}
	missing += " See " + folder.Path(spansFolder)
	if s.System != external.Name || to.DroppedSpans > 0 {
		return withCode(exitFailed, "%s", missing)
	}
	a.note("%s. Each operation is one call, as long as its median: write the calls within it into the model",
		missing)
	to.Source = model.Meter
	for _, t := range metered {
		operations := t.ByOperation
		if len(operations) == 0 { // the load has only one
			m, _ := model.OfTrial(t, s.Metrics)
			operations = []lab.OperationOutcome{{Name: s.Title, Sent: int64(m.Time.N),
				Median: m.Time.Quantiles["p50"].Seconds()}}
		}
		generator := slices.IndexFunc(t.Parts, func(p lab.Part) bool { return p.Name == lab.RoleGenerator })
		if generator < 0 || len(t.Parts[generator].Links) == 0 {
			return withCode(exitFailed, "trial %d does not say which unit its clients reach: measure the system again",
				t.Number)
		}
		unit := t.Parts[generator].Links[0].To
		for _, o := range operations {
			if o.Median == 0 { // no answer was right
				continue
			}
			length := int64(o.Median * 1e9)
			to.Traces = append(to.Traces, slices.Repeat([]*lab.SpanNode{{Service: unit, Name: o.Name, Serves: true,
				Kind: lab.SegmentBusiness, End: length, Self: length}}, int(o.Sent))...)
		}
	}
	return nil
}

// cpuByRole returns the CPU time per operation of each role except the generator, in seconds: means over
// trials. It distributes the CPU time per operation over the roles by their shares of the CPU time.
func cpuByRole(trials []lab.Trial, metrics []lab.Metric) map[string]float64 {
	perOperation, _ := lab.FindMetric(metrics, lab.CPU, 0, lab.PerOperation)
	mean := map[string]float64{}
	for _, t := range trials {
		whole := t.Metered.Used().CPUSeconds
		for role, used := range t.Metered.Roles {
			if role != lab.RoleGenerator {
				share := used.CPUSeconds / whole
				mean[role] += share * t.Measures[perOperation.Name] / float64(len(trials))
			}
		}
	}
	return mean
}

// storeOf returns a function that returns the store of a component, by the links between the parts of a
// trial. owned is set if each component has its own store.
func storeOf(parts []lab.Part, owned bool) func(unit, component string, _ *lab.SpanNode) model.Store {
	byName := map[string]lab.Part{}
	for _, p := range parts {
		byName[p.Name] = p
	}
	return func(unit, component string, _ *lab.SpanNode) model.Store {
		found := lab.Part{Name: "database", Service: "database"} // if no link of the unit leads to a store
		links := slices.DeleteFunc(slices.Clone(byName[unit].Links),
			func(l lab.Link) bool { return byName[l.To].Service == "" })
		if len(links) > 0 { // without counts, take the first: caches and brokers come after databases
			asked := slices.IndexFunc(links, func(l lab.Link) bool { _, is := l.Traffic["statements"]; return is })
			found = byName[links[max(0, asked)].To]
		}
		if !found.Embedded {
			return model.Store{Name: found.Name, Kind: found.Service, Server: true}
		}
		owner := unit
		if owned {
			owner = component
		}
		s := model.Store{Name: owner + "-" + found.Name, Kind: found.Service}
		if s.Kind == sqlite.Kind {
			s.Workers = 1 // only one connection writes
		}
		return s
	}
}
