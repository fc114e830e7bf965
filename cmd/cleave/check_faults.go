package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/fault"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

const (
	// firstFault is the default time of the first fault in the load, in seconds.
	firstFault = 1.0
	// unitRestart, serviceRestart and nodeRestart are the times, in seconds, that a plan reserves for a restart
	// before the next fault or the end of the load. RabbitMQ takes five seconds, and so does a node of
	// Kubernetes with ten pods.
	unitRestart    = 1.5
	serviceRestart = 10.0
	nodeRestart    = 15.0
	// replicaUpdate is the time for the replacement of one replica, in seconds.
	replicaUpdate = 8.0
	// loadAfter is the time for which the load continues after the last restart, in seconds.
	loadAfter = 1.0
	// faultyRate limits the operations per second of a check with faults. While nothing
	// answers, operations fail at once: without a limit all of them would fail during the
	// first fault.
	faultyRate = 500.0
)

// parseFault reads KIND:TARGET[@AFTER][+HEAL][,delay=SPAN][,rate=BYTES]. After is NaN if it is not given.
func parseFault(text string) (lab.Fault, error) {
	word, rest, _ := strings.Cut(text, ":")
	kind := lab.FaultKind(word)
	f := lab.Fault{Kind: kind, After: math.NaN(), Heal: kind.DefaultHeal()}
	rest, sizes, sized := strings.Cut(rest, ",")
	rest, heal, healed := strings.Cut(rest, "+")
	target, after, timed := strings.Cut(rest, "@")
	f.Target = target
	if !slices.Contains(lab.FaultKinds(), kind) || target == "" {
		return f, fmt.Errorf("--fault is %q, expected KIND:TARGET[@AFTER][+HEAL] with a kind of %v, for example "+
			"%s:%s@2s+1s, or %s:%s,delay=50ms,rate=1MiB",
			text, lab.FaultKinds(), lab.FaultKill, lab.EveryUnit, lab.FaultSlow, lab.EveryUnit)
	}
	var err error
	if timed {
		f.After, err = parseSpan(after)
	}
	if healed && err == nil {
		f.Heal, err = parseSpan(heal)
	}
	if sized && err == nil {
		err = readSizes(sizes, &f)
	}
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return f, fmt.Errorf("--fault is %q: %w", text, err)
	}
	return f, nil
}

// readSizes reads the delay and the rate of a fault that slows its target.
func readSizes(text string, f *lab.Fault) (err error) {
	for size := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(size, "=")
		switch name {
		case "delay":
			f.Delay, err = parseSpan(value)
		case "rate":
			f.Rate, err = study.Rate(value)
		default:
			err = fmt.Errorf("%q is neither delay=SPAN nor rate=BYTES", size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseSpan parses a time span and returns it in seconds.
func parseSpan(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > study.Longest {
		return 0, fmt.Errorf("%q is no time span such as 2s or 500ms, at most %.0fh", text, study.Longest.Hours())
	}
	return d.Seconds(), nil
}

// addFaultPoints adds the faults to a study of checks. Every variant gets its own point, whose
// load lasts until the variant's faults are over.
func (f *checkFlags) addFaultPoints(system lab.Checkable, s *lab.Study) error {
	if len(f.faults) == 0 {
		return nil
	}
	if !system.Describe().Restartable {
		return fmt.Errorf("%s takes no faults: its units cannot be started again: leave --fault out", s.System)
	}
	layouts, err := f.addFaults(s, f.faults)
	if err != nil {
		return err
	}
	s.Points = nil
	for i, v := range s.Variants {
		end := 0.0
		for _, one := range s.Faults {
			end = max(end, healedAt(one, layouts[i]))
		}
		length := max(end+loadAfter, float64(f.operations)/faultyRate)
		point := system.CheckPoint(f.operations, length)
		point.Name = v.Name
		s.Load.Duration = max(s.Load.Duration, length)
		s.Points = append(s.Points, point)
		s.Variants[i].Points = []string{v.Name}
	}
	return nil
}

// addFaults adds the faults of --fault to a study, and returns the layouts of its variants. It returns an
// error if any of the faults is impossible for any of the variants.
func (f *foreignFlags) addFaults(s *lab.Study, texts []string) ([]lab.Layout, error) {
	var faults []lab.Fault
	var wrong mistakes
	for _, text := range texts {
		one, err := parseFault(text)
		faults = append(faults, one)
		wrong.add(err)
	}
	layouts, err := layoutsOf(*s, f.secrets)
	wrong.add(err)
	if err := wrong.err(); err != nil {
		return nil, err
	}
	s.Faults = scheduleFaults(faults, layouts)
	for i, v := range s.Variants {
		if err := (fault.Injector{}).Check(s.Faults, layouts[i]); err != nil {
			what := "architecture"
			if v.External != nil {
				what = "system"
			}
			wrong.addf("%s %s: %w", what, v.Name, err)
		}
		if v.External == nil || len(v.External.Services) == 0 {
			continue
		}
		for _, one := range s.Faults {
			if one.Kind == lab.FaultSlow || one.Kind == lab.FaultFill {
				wrong.addf("--fault %s:%s: services of a file, such as those of %s, reach each other directly and have "+
					"volumes of Docker's own: use kill, restart, pause or cut", one.Kind, one.Target, v.Name)
			}
		}
	}
	return layouts, wrong.err()
}

// scheduleFaults sets the times of the faults that have none, in place. Such a fault begins after all earlier
// faults of the list are healed in every layout, and after a pause. The pause after a fault is as long as the
// fault.
func scheduleFaults(faults []lab.Fault, layouts []lab.Layout) []lab.Fault {
	free := firstFault
	for i := range faults {
		f := &faults[i]
		if math.IsNaN(f.After) {
			f.After = free
		}
		for _, layout := range layouts {
			free = max(free, healedAt(*f, layout)+f.Heal)
		}
	}
	return faults
}

// healedAt estimates when the target of a fault is usable again in a layout, in seconds since the start of
// the load. A fault of lab.EveryUnit hits one unit after the other, with pauses as long as the fault.
func healedAt(f lab.Fault, layout lab.Layout) float64 {
	if f.Target == lab.EveryUnit {
		n := float64(len(layout.Units) - 1) // all but the lead
		restart := unitRestart
		if f.Kind == lab.FaultUpdate {
			restart = replicaUpdate
		}
		return f.After + n*(f.Heal+restart) + max(n-1, 0)*f.Heal
	}
	if f.Kind == lab.FaultUpdate {
		replicas := 0.0
		for _, unit := range layout.Units {
			if unit.Name == f.Target || unit.Group == f.Target {
				replicas++
			}
		}
		return f.After + max(replicas, 1)*replicaUpdate
	}
	for _, service := range layout.Services {
		if service.Name == f.Target {
			return f.After + f.Heal + serviceRestart
		}
	}
	if _, isNode := layout.Node(f.Target); isNode && f.Kind.StopsProcesses() {
		return f.After + f.Heal + nodeRestart
	}
	return f.After + f.Heal + unitRestart
}

// showFaults writes the faults of the trials and their effects on clients. kind is the title of the column of
// variants. The slowest healing is the longest time from the beginning of a healing, such as the restart of a
// killed process, until the target was usable.
func showFaults(to io.Writer, kind string, columns []lab.CheckColumn, trials []lab.Trial) error {
	rows := [][]string{append([]string{kind, "faults", "healed", "slowest healing"}, titlesOf(columns)...)}
	for _, trial := range trials {
		if len(trial.Faults) == 0 {
			continue
		}
		done := 0
		healed := 0
		slowest := 0.0
		for _, r := range trial.Faults {
			if r.Effective {
				done++
			}
			if r.Effective && r.Error == "" {
				healed++
				slowest = max(slowest, r.Healed-r.Began-r.Heal)
			}
		}
		row := []string{trial.Variant, fmt.Sprintf("%d of %d", done, len(trial.Faults)), strconv.Itoa(healed),
			fmt.Sprintf("%.2f s", slowest)}
		rows = append(rows, append(row, valuesOf(columns, trial)...))
	}
	if len(rows) == 1 {
		return nil
	}
	fmt.Fprintln(to)
	return writeTable(to, rows)
}
