package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// namesForeignSystem reports whether an argument of model names a system of the user. Otherwise it names
// spans, which are never in YAML. A folder is one of manifests if it has a YAML file. An argument that is no
// path is a system if it looks like NAME=SYSTEM, a command with arguments, or a URL.
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

// foreignPlan returns the plan of the trials of the one system that args names: it is metered at several
// rates, and traced at f.rate. Names of the traced variant and point say "followed".
func (f *modelFlags) foreignPlan(
	ctx context.Context, args []string, secrets *secret.Vault,
) (lab.Plan, error) {
	definitions, err := f.systems(args, f.onlyDeployment(), secrets)
	load, dir, loadErr := f.load(secrets)
	if err := errors.Join(err, loadErr, f.checkRates(), f.checkDesign()); err != nil {
		return lab.Plan{}, err
	}
	d := definitions[0]
	if d.RunsAlready() || d.Compose != nil {
		return lab.Plan{}, fmt.Errorf("system %s: Cleave does not run its parts one by one, so that it could "+
			"meter them and receive their spans: give a compose file whose services are units, an image, or a "+
			"command with {port}", d.Name)
	}
	const perFlow = 1 // operations: rates of systems of the user count flows
	points, tracedPoint := f.modelPoints(perFlow), ratePoint(f.rate)
	tracedPoint.Name += "-followed"
	tracedPoint.Levels[lab.FactorTraceShare] = cmp.Or(load.Client.TraceShare, 1)
	load.Client.TraceShare = 0 // the metered trials have no spans
	s := lab.Study{Schema: lab.StudySchema, Name: modelName, Title: d.Name, System: external.Name,
		Question: "What does each call take?", Baseline: meteredVariant, Design: f.modelDesign(), Load: &load,
		Points: append(slices.Clone(points), tracedPoint)}
	s.Metrics = external.Metrics(s.Points)
	s.Design.TrialTimeout = trialTimeout(load, definitions)
	metered := foreignVariant(d, nil)
	metered.Name, metered.Points = meteredVariant, study.NamesOf(points, pointName)
	followed := metered
	followed.Name, followed.Points = followedVariant, []string{tracedPoint.Name}
	s.Variants = []lab.Variant{metered, followed}
	if err := f.checkSystems(ctx, &s, dir, secrets); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// byService changes the keys of cpu, CPU times by unit, to the names of services in spans, and returns it. If
// only one unit and one service have names that do not match, it assumes that they are the same. Otherwise it
// changes nothing.
func byService(cpu map[string]float64, traces []*lab.SpanNode) map[string]float64 {
	var unknown, services []string
	var walk func(s *lab.SpanNode)
	walk = func(s *lab.SpanNode) {
		name := model.UnitName(s.Service)
		if _, metered := cpu[name]; !metered && !slices.Contains(services, name) {
			services = append(services, name)
		}
		for _, child := range s.Children {
			walk(child)
		}
		// The peer may be a database.
		unknown = slices.DeleteFunc(unknown, func(unit string) bool { return unit == name || unit == s.Peer })
	}
	for unit := range cpu {
		unknown = append(unknown, unit)
	}
	for _, t := range traces {
		walk(t)
	}
	if len(unknown) != 1 || len(services) != 1 {
		return cpu
	}
	cpu[services[0]] = cpu[unknown[0]]
	delete(cpu, unknown[0])
	return cpu
}
