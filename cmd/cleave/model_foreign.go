package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// namesForeignSystem reports whether an argument of the command model names a system of the user. If not,
// the argument names spans. Spans are never in YAML: a YAML file is a system, and a folder with a YAML file
// is one of manifests. An argument that is no path names a system if it looks like NAME=SYSTEM, a command
// with arguments, or a URL.
func namesForeignSystem(argument string) bool {
	if isYAML(argument) {
		return true
	}
	info, err := os.Stat(argument)
	if err != nil {
		return strings.ContainsAny(argument, "= ") || strings.Contains(argument, "://")
	}
	if info.IsDir() {
		entries, err := os.ReadDir(argument)
		return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isYAML(e.Name()) })
	}
	file, err := external.Open(argument)
	return err == nil && file.IsSystem()
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// foreignPlan returns the plan of the trials of the one system that args names. The system is metered at
// several rates, and traced at f.rate. The traced variant and its point are called "followed".
func (f *modelFlags) foreignPlan(ctx context.Context, args []string) (lab.Plan, error) {
	definitions, err := f.systems(args, f.onlyDeployment())
	load, dir, loadErr := f.load()
	if err := errors.Join(err, loadErr, f.checkRates(), f.checkDesign()); err != nil {
		return lab.Plan{}, err
	}
	d := definitions[0]
	if d.RunsAlready() || d.Compose != nil {
		return lab.Plan{}, fmt.Errorf("system %s: Cleave does not run its parts one by one, so it can neither "+
			"meter them nor receive their spans: give a compose file whose services are units, an image, or a "+
			"command with {port}", d.Name)
	}
	const perFlow = 1 // the rates of systems of the user are in flows already
	points := f.modelPoints(perFlow)
	tracedPoint := ratePoint(f.rate)
	tracedPoint.Name += "-followed"
	tracedPoint.Levels[lab.FactorTraceShare] = cmp.Or(load.Client.TraceShare, 1)
	load.Client.TraceShare = 0 // the metered trials have no spans
	s := lab.Study{Schema: lab.StudySchema, Name: modelName, Title: d.Name, System: external.Name,
		Question: "What does each call take?", Baseline: meteredVariant, Design: f.modelDesign(), Load: &load,
		Points: append(slices.Clone(points), tracedPoint)}
	s.Metrics = external.Metrics(s.Points)
	s.Design.TrialTimeout = trialTimeout(load, definitions)
	metered := foreignVariant(d, nil)
	metered.Name = meteredVariant
	metered.Points = study.NamesOf(points, pointName)
	followed := metered
	followed.Name = followedVariant
	followed.Points = []string{tracedPoint.Name}
	s.Variants = []lab.Variant{metered, followed}
	if err := f.checkSystems(ctx, &s, dir); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// byService returns the CPU times of units by the names of services in spans. If exactly one unit
// appears in no span, and exactly one service in spans has no unit, byService assumes that they are the same,
// and renames the unit in cpu. Otherwise it leaves cpu as it is.
func byService(cpu map[string]float64, traces []*lab.SpanNode) map[string]float64 {
	unitsLeft := slices.Collect(maps.Keys(cpu))
	servicesLeft := []string{} // services in spans that are not the name of a unit
	var walk func(s *lab.SpanNode)
	walk = func(s *lab.SpanNode) {
		name := model.UnitName(s.Service)
		if _, metered := cpu[name]; !metered && !slices.Contains(servicesLeft, name) {
			servicesLeft = append(servicesLeft, name)
		}
		for _, child := range s.Children {
			walk(child)
		}
		// A unit that only appears as a peer, such as a database, sends no spans of its own.
		unitsLeft = slices.DeleteFunc(unitsLeft, func(unit string) bool { return unit == name || unit == s.Peer })
	}
	for _, t := range traces {
		walk(t)
	}
	if len(unitsLeft) != 1 || len(servicesLeft) != 1 {
		return cpu
	}
	cpu[servicesLeft[0]] = cpu[unitsLeft[0]]
	delete(cpu, unitsLeft[0])
	return cpu
}
