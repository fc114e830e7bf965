package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Job plays the work of a deployment, from its readiness to its reports. Trials of studies and of benchmarks
// use it.
type Job struct {
	Deployment lab.Deployment
	Meter      lab.Meter
	// Host observes the host during the job; nil: the host is not observed.
	Host lab.Observation
	// Lap is called at the end of each phase, unless it is nil.
	Lap func(lab.PhaseName)
	// Profiler profiles the job. It has instrumented the layout before. nil: the trial is not profiled.
	Profiler lab.Profiler
	// Faults are injected by Injector while the job runs. Without faults Injector may be nil.
	Faults   []lab.Fault
	Injector lab.Injector
	Layout   lab.Layout // of the deployment
	// Used gets the usage of the units about once a second, if the meter supports it; nil: it is not read.
	Used func(lab.UsedSecond)
}

// Played is the result of a job. After a failure it has the results up to then.
type Played struct {
	Finished lab.Event        // of the lead unit
	Began    time.Time        // before the start command
	Ended    time.Time        // after the last operation
	Used     lab.Metered      // between the marks
	Reports  []lab.UnitReport // what each unit reported at its end
	Faults   []lab.FaultRecord
	Arrivals []lab.Arrival     // the replicas that the platform added during the job
	Clocks   *lab.Clocks       // read before and after the job; nil: all units have the conductor's clock
	Platform *lab.PlatformCost // the usage of the daemons is added when the meter stops
	profile  profileRecorder
}

// Play waits until the units are ready, runs the job between two marks of the meter, and lets the units stop
// and report.
func (j Job) Play(ctx context.Context) (played Played, err error) {
	if _, err := j.Deployment.Await(ctx, lab.EventReady); err != nil {
		return played, err
	}
	ofUnits, err := j.watch(ctx)
	if err != nil {
		return played, deathOr(ctx, j.Deployment, fmt.Errorf("meter: %w", err))
	}
	metering := j.watchPlatform(ctx, ofUnits)
	played.Platform = metering.cost
	j.lap(lab.PhaseReady)
	if err := j.rest(ctx); err != nil { // ctx has ended, and with it the meter
		return played, deathOr(ctx, j.Deployment, err)
	}
	before, err := j.Deployment.Clocks(ctx)
	if err == nil && j.Profiler != nil {
		err = played.profile.begin(j)
		defer played.profile.close(nil) // for a job that fails before end; after end it does nothing
	}
	if err == nil {
		err = mark(metering)
	}
	played.Began = time.Now()
	if err == nil {
		err = j.withArrivals(ctx, metering, played.Began, &played, func(ctx context.Context) error {
			return j.run(ctx, metering, &played)
		})
	}
	if err == nil && j.Profiler != nil {
		err = played.profile.end()
	}
	used, meterErr := metering.Stop()
	j.lap(lab.PhaseJob)
	if err != nil {
		return played, deathOr(ctx, j.Deployment, err) // an error of the meter would be its consequence
	}
	if meterErr != nil {
		return played, fmt.Errorf("meter: %w", meterErr)
	}
	played.Used = j.withAccounts(used, played.Began)
	played.Used.Nodes = nodesOf(used.Units, j.Deployment)
	after, err := j.Deployment.Clocks(ctx)
	if err != nil {
		return played, deathOr(ctx, j.Deployment, err)
	}
	if len(after) > 0 {
		played.Clocks = lab.NewClocks(before, after)
	}
	if err := j.Deployment.Command(lab.Command{Command: lab.CommandStop}); err != nil {
		return played, err
	}
	played.Reports, err = j.Deployment.Reports(ctx)
	j.lap(lab.PhaseReports)
	return played, err
}

// watch begins to meter the units, with the deployment's own meter if it has one. If j.Used is set and the
// meter supports it, the meter calls j.Used about once a second.
func (j Job) watch(ctx context.Context) (lab.Metering, error) {
	meter := j.Meter
	if own := j.Deployment.Meter(); own != nil {
		meter = own
	}
	metering, err := meter.Watch(ctx, j.Deployment.Units())
	if err != nil || j.Used == nil {
		return metering, err
	}
	if followed, can := metering.(lab.FollowedMetering); can {
		err = followed.Follow(j.Used)
	}
	return metering, err
}

// withAccounts adds the platform's own figures for the units since the job began.
func (j Job) withAccounts(used lab.Metered, begun time.Time) lab.Metered {
	var note string
	if used.Platform, note = j.Deployment.Accounts(begun, time.Now()); note != "" {
		used.Notes = append(used.Notes, note)
	}
	return used
}

// withArrivals records and meters the replicas that the platform adds while do runs.
func (j Job) withArrivals(
	ctx context.Context, metering lab.Metering, begun time.Time, played *Played, do func(context.Context) error,
) error {
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- j.Deployment.Arrivals(watching, func(a lab.Arrived) error {
			// Replicas are standby units: the meter has suspended them from the start.
			if err := metering.Resume(a.Unit); err != nil {
				return fmt.Errorf("meter: %w", err)
			}
			played.Arrivals = append(played.Arrivals, lab.Arrival{Unit: a.Name, Asked: a.Asked.Sub(begun).Seconds(),
				Ready: a.Ready.Sub(begun).Seconds()})
			return nil
		})
	}()
	err := do(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// rest waits for the time that the lead unit asks for, so that the meter records the usage of the idle units.
// It does not wait if the lead is the only unit: nothing else could be idle.
func (j Job) rest(ctx context.Context) error {
	lead := slices.IndexFunc(j.Layout.Units, func(u lab.UnitSpec) bool { return u.Name == j.Layout.Lead })
	if lead < 0 || len(j.Layout.Units) == 1 || j.Layout.Units[lead].Rest == 0 {
		return nil
	}
	defer j.lap(lab.PhaseIdle)
	select {
	case <-time.After(j.Layout.Units[lead].Rest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lap reports the end of a phase.
func (j Job) lap(phase lab.PhaseName) {
	if j.Lap != nil {
		j.Lap(phase)
	}
}

// run plays from the start command to the last operation, with the faults. It returns when all faults are
// healed.
func (j Job) run(ctx context.Context, metering lab.Metering, played *Played) error {
	if j.Host != nil {
		j.Host.Open()
	}
	if err := j.Deployment.Command(lab.Command{Command: lab.CommandStart}); err != nil {
		return err
	}
	if len(j.Faults) == 0 {
		return j.finish(ctx, metering, played, func() {}) // there is no injection that has to know of the end
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	injection := j.Injector.Begin(ctx, j.Faults, targets(j.Deployment, j.Layout, metering))
	if err := j.finish(ctx, metering, played, injection.Over); err != nil {
		cancel() // a trial that has failed ends without healing the faults
		played.Faults = injection.End()
		return err
	}
	played.Faults = injection.End()
	return unhealed(played.Faults)
}

// finish waits for the last operation, calls over, and marks the end of the measured window. It calls over
// first, because the mark may take long.
func (j Job) finish(ctx context.Context, metering lab.Metering, played *Played, over func()) (err error) {
	played.Finished, err = j.Deployment.Await(ctx, lab.EventFinished)
	played.Ended = time.Now()
	if err != nil {
		return err
	}
	over()
	if j.Host != nil {
		j.Host.Close()
	}
	return mark(metering)
}

// mark marks one end of the measured window.
func mark(metering lab.Metering) error {
	if err := metering.Mark(); err != nil {
		return fmt.Errorf("meter: %w", err)
	}
	return nil
}

// deathOr returns the error of a job. If the error is that a process is gone, as a meter sees it, and the
// deployer reports within deathNotice how the unit ended, it returns the deployer's reason.
func deathOr(ctx context.Context, deployment lab.Deployment, err error) error {
	if !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deathNotice)
	defer cancel()
	_, death := deployment.Await(ctx, lab.EventFinished)
	if death == nil || errors.Is(death, context.DeadlineExceeded) {
		return err
	}
	return death
}

// deathNotice is the time that a deployer may take to report the end of a unit.
const deathNotice = time.Second

// nodesOf returns the sum of the usage of units by node; nil if the deployment has no nodes. A unit counts
// for the node on which it was at the end of the load. The result leaves out the generator, and nodes with a
// unit whose CPU time or memory is not metered.
func nodesOf(units []lab.UnitUsage, deployment lab.Deployment) map[string]lab.NodeUsage {
	var nodes map[string]lab.NodeUsage
	unmetered := map[string]bool{}
	for _, u := range units {
		node := deployment.NodeOf(u.Unit.Name)
		if node == "" || u.Unit.Role == lab.RoleGenerator {
			continue
		}
		if u.Lacks("cpu_seconds") || u.Lacks("mean_memory_bytes") {
			unmetered[node] = true
		}
		if nodes == nil {
			nodes = map[string]lab.NodeUsage{}
		}
		sum := nodes[node]
		sum.Units++
		sum.CPUSeconds += u.CPUSeconds
		sum.MeanMemoryBytes += u.MeanMemoryBytes
		nodes[node] = sum
	}
	for node := range unmetered {
		delete(nodes, node)
	}
	return nodes
}
