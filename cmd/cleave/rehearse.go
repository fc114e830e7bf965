package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/study"
)

// rehearseName names the study of every rehearsal, and changedVariant the variant with the change.
const (
	rehearseName   = "rehearse"
	changedVariant = "changed"
)

// rehearseFlags are the flags of rehearse.
type rehearseFlags struct {
	designFlags
	change   changeFlags
	rate     float64
	calls    string
	capacity bool // measure the capacity of both placements, too
}

func (a app) rehearseCommand() *cobra.Command {
	var flags rehearseFlags
	command := &cobra.Command{
		Use:   "rehearse MODEL",
		Short: "measure a split or a merge with units that play a model, before it is built",
		Long: `Plays the system of a model file as it is and with its components placed
otherwise, in the same randomised blocks. The units use the CPU time, wait, send
the bytes and make the calls that the model says, over real connections, under
real load. An audit holds every call against the model.

The first screen says what the change would take: what the model has measured of
the system as it is, times the ratio of both placements as they were played. Then
it shows both side by side, the error at the rates at which the model was measured,
and the limits of the method. docs/predicting.md says how it is done. explain,
bottleneck and check take a MODEL in the place of a system, too. cleave list does
not show models.` + exitCodesHelp(measuredCodes()...),
		Example: `  cleave rehearse shop.model.yaml --split orders,payments
  cleave rehearse shop.model.yaml --merge cart,catalog --rate 200 --calls grpc
  cleave explain shop.model.yaml --from as-is --to "orders,payments apart"`,
		Args: arguments(orResumed(cobra.ExactArgs(1))),
		RunE: func(command *cobra.Command, args []string) error {
			return a.planAndPlay(command, args, &flags.experimentFlags, flags.plan, a.reportRehearsal)
		},
	}
	flags.register(command)
	return command
}

func (f *rehearseFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is rehearsed", f.change.addTo, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.calls, "calls", "http",
			"`binding` of calls between units: http, grpc, http-lean, grpc-lean")
	})
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.Float64VarP(&f.rate, "rate", "r", 0,
			"operations per second (default: the highest at which the model was measured)")
		addCapacity(flags, &f.capacity)
		f.addLength(flags, 10*time.Second)
	})
	addGroup(command, "Deployment", f.addDeployment)
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		f.addBlocks(flags, 8, "variant", "play 3 blocks of 2 s: small differences stay undecided")
	}, f.addDesign, f.addPlay)
	addGroup(command, "Output", f.addOutput, f.addVerdict)
}

// plan makes the plan of a model file.
func (f *rehearseFlags) plan(path string) (lab.Plan, error) {
	m, err := readModel(path)
	if err != nil {
		return lab.Plan{}, err
	}
	text, _ := modelText(path) // a model file, as readModel has checked
	system, err := modelSystem[lab.Explainable](path, text, "rehearsed")
	if err != nil {
		return lab.Plan{}, err
	}
	info := system.Describe()
	if f.resume != "" { // the result folder has the plan
		return lab.Plan{Study: lab.Study{Name: rehearseName, System: info.Name}}, nil
	}
	f.applyQuick(2*time.Second, time.Second/2)
	change, err := f.change.read()
	units, applyErr := change.Apply(m)
	if measured := measuredRates(m, ""); !f.isSet("rate") && len(measured) > 0 {
		f.rate = measured[len(measured)-1]
	}
	switch {
	case err != nil:
	case f.rate == 0 && !f.isSet("rate"):
		err = errors.New("the model does not say at which rate it was measured: give --rate")
	default:
		err = checkRate(f.rate)
	}
	if err := errors.Join(err, applyErr, f.checkDesign()); err != nil {
		return lab.Plan{}, err
	}
	s := f.study(info, m, change.String(), units)
	if err := setReplicas(&s, m.Units, units); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// study returns the study. It plays both placements at the rate of the flag, and each placement also at the
// rates at which it was measured.
func (f *rehearseFlags) study(
	info lab.SystemInfo, m model.Model, change string, units []model.Unit,
) lab.Study {
	load := f.measuredLoad()
	s := lab.Study{Schema: lab.StudySchema, Name: rehearseName, System: info.Name, Model: info.Model,
		Title: m.Name + ": " + change, Question: "What would the change cost?", Baseline: asIsVariant,
		Design: f.design(asIsVariant), Metrics: info.Metrics, Load: &load,
		Notes: rehearsalLimits(m, f.deployment())}
	// measured is the placement in the model's measurements: "" is that of the system as it is.
	for _, played := range []struct{ name, summary, placement, measured string }{
		{asIsVariant, "as it is", asIsVariant, ""},
		{changedVariant, change, placementOf(units), placementOf(units)},
	} {
		// The knob placement, not the architecture, distinguishes the variants.
		v := lab.Variant{Name: played.name, System: s.System, Architecture: asIsVariant, Deployment: f.deployment(),
			Knobs:   map[string]string{"calls": f.calls, "placement": played.placement},
			Summary: played.summary}
		rates := slices.DeleteFunc(measuredRates(m, played.measured),
			func(rate float64) bool { return model.SameRate(rate, f.rate) })
		for _, rate := range append([]float64{f.rate}, rates...) {
			p := ratePoint(rate)
			if !slices.Contains(v.Points, p.Name) {
				v.Points = append(v.Points, p.Name)
			}
			if _, known := s.Point(p.Name); !known {
				s.Points = append(s.Points, p)
			}
		}
		if f.capacity {
			v.Points = append(v.Points, usersPoint(capacityUsers).Name)
		}
		s.Variants = append(s.Variants, v)
	}
	if f.capacity {
		s.Points = append(s.Points, usersPoint(capacityUsers))
	}
	s.Design.NoiseFloorPoints = []string{s.Points[0].Name}
	return s
}

// measuredRates returns the rates at which a placement was measured. Nearly equal rates count as one.
func measuredRates(m model.Model, placement string) (rates []float64) {
	for _, one := range predict.Pooled(m.Measured) {
		if one.Users > 0 || !samePlacement(m, one.Placement, placement) {
			continue
		}
		if !slices.Contains(rates, one.Rate) {
			rates = append(rates, one.Rate)
		}
	}
	slices.Sort(rates)
	return rates
}

// samePlacement reports whether splitting off these components gives the units of a placement. The system as
// it is has "" for both.
func samePlacement(m model.Model, split, placement string) bool {
	if split == placement || split == "" {
		return split == placement
	}
	units, err := predict.Change{Split: predict.ParseGroups(split)}.Apply(m)
	groups := func(text string) (all []string) {
		for _, group := range predict.ParseGroups(text) {
			slices.Sort(group)
			all = append(all, strings.Join(group, "+"))
		}
		slices.Sort(all)
		return all
	}
	return err == nil && slices.Equal(groups(placementOf(units)), groups(placement))
}

// setReplicas sets the replicas of each variant of a study, as its units in the model say, and checks the
// result. units has the units of each variant; the layout of the variant begins with them, in the same order.
func setReplicas(s *lab.Study, units ...[]model.Unit) error {
	layouts, err := layoutsOf(*s, nil)
	if err != nil {
		return err
	}
	for i := range s.Variants {
		for k, u := range units[i] {
			if u.Replicas > 1 {
				if s.Variants[i].Replicas == nil {
					s.Variants[i].Replicas = map[string]int{}
				}
				s.Variants[i].Replicas[layouts[i].Units[k].Name] = u.Replicas
			}
		}
	}
	_, err = layoutsOf(*s, nil)
	return err
}

// rehearsalLimits lists what a rehearsal leaves out and what it assumes.
func rehearsalLimits(m model.Model, deployment string) []string {
	cores := lab.Count(runtime.NumCPU(), "core")
	processors := fmt.Sprintf("all units share this host with %s (%s)", cores, deployment)
	if runsOnUsersHosts(deployment) {
		processors = fmt.Sprintf("the units run on hosts of yours (%s), whose processors may be faster or slower "+
			"than those on which the model was measured", deployment)
	}
	limits := []string{
		"CPU time is spent on arithmetic instead of your code: the cost of caches, memory, garbage collection " +
			"and locks is included as it was metered, and stays the same with any change",
		processors,
		"times of calls are drawn independently of each other; CPU times follow the rate as far as it was " +
			"measured, waiting does not",
		"the CPU time of our own program for a client's request, or for asking a store that is a server, is " +
			"subtracted from that of calls; where a call has less, the units take more than the model asks for",
	}
	calls := 0
	empty := 0
	bound := 0
	for i := range m.Operations {
		m.Operations[i].Call.Executions(func(c *model.Call, _ float64) {
			calls++
			if c.In == 0 && c.Out == 0 {
				empty++
			}
			if c.CPU.Source == model.Trace {
				bound++
			}
		})
	}
	if len(m.Stores) > 0 {
		limits = append(limits, "commits to an embedded sqlite are real, to a file for each unit that uses the "+
			"store: one transaction becomes one for each unit. Other visits to stores are simulated by waiting as "+
			"long as was measured at low load")
	}
	if empty > 0 {
		limits = append(limits, fmt.Sprintf("%d of %d calls have no bytes in the model: they send empty messages",
			empty, calls))
	}
	if bound > 0 {
		limits = append(limits, fmt.Sprintf("the CPU time of %d of %d calls is the self time of spans, an upper "+
			"bound", bound, calls))
	}
	if len(m.Measured) == 0 {
		limits = append(limits, "the model holds no measurements: how far off these figures are is unknown")
	}
	return limits
}
