// Package fault plays the faults of a running trial: at a given time after the start of the load a unit,
// a backing service or a node is harmed, and healed after a while. It keeps a record of each fault.
//
// It neither harms anything itself nor judges the effect: the deployer of the units does the harm and
// proves it (lab.Harmer), and the audit of the system says whether the trial survived.
//
// Entry points: Injector.Check before a trial, Injector.Begin during it.
package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Injector plays faults at their times.
type Injector struct{}

var _ lab.Injector = Injector{}

// Check implements lab.Injector.
func (Injector) Check(faults []lab.Fault, layout lab.Layout) error {
	var problems []error
	for _, f := range faults {
		if err := check(f, layout); err != nil {
			problems = append(problems, fmt.Errorf("fault %s of %q: %w", f.Kind, f.Target, err))
		}
	}
	return errors.Join(append(problems, overlaps(faults)...)...)
}

// overlaps returns an error for each fault that begins while an earlier fault of its target excludes it.
// It leaves out faults of lab.EveryUnit, because it does not know when they reach which unit.
func overlaps(faults []lab.Fault) (problems []error) {
	inOrder := slices.SortedStableFunc(slices.Values(faults),
		func(a, b lab.Fault) int { return cmp.Compare(a.After, b.After) })
	for i, f := range inOrder {
		if f.Target == lab.EveryUnit {
			continue
		}
		for _, before := range inOrder[:i] {
			healed := before.After + before.Heal
			overlap := f.Target == before.Target && f.After < healed
			if overlap && before.Kind.Excludes(f.Kind) {
				problems = append(problems, fmt.Errorf("fault %s of %q: it begins after %g s, and until %g s that "+
					"has the fault %s: let it begin later", f.Kind, f.Target, f.After, healed, before.Kind))
			}
		}
	}
	return problems
}

// unknownTarget is the error of a fault whose target does not exist.
const unknownTarget = "there is no such unit, backing service or node"

// check returns an error if a fault cannot be injected into a layout.
func check(f lab.Fault, layout lab.Layout) error {
	var known []string
	for _, u := range layout.Units {
		if u.Name != layout.Lead {
			known = append(known, u.Name)
		}
	}
	units := len(known)
	for _, s := range layout.Services {
		known = append(known, s.Name)
	}
	for _, node := range layout.Nodes {
		known = append(known, node.Name)
	}
	known = append(known, lab.EveryUnit)
	node, isNode := layout.Node(f.Target)
	switch {
	case !slices.Contains(lab.FaultKinds(), f.Kind):
		return fmt.Errorf("there is no fault %q; there are: %v", f.Kind, lab.FaultKinds())
	case f.Target == layout.Lead:
		return errors.New("it leads the trial: without it there is no load")
	case f.Target == lab.EveryUnit && units == 0:
		return errors.New("there is no unit but the one that leads the trial")
	case !slices.Contains(known, f.Target):
		return fmt.Errorf("%s; there are: %s", unknownTarget, strings.Join(known, ", "))
	case f.Kind == lab.FaultDrain && len(node.Pinned) > 0:
		return fmt.Errorf("the layout pins %s to it, which cannot move to another node",
			strings.Join(node.Pinned, ", "))
	case isNode && !slices.Contains(node.Faults, f.Kind):
		return fmt.Errorf("it is a node, to which only these can be done: %v", node.Faults)
	case f.Kind.Passes() && f.Heal > 0:
		return fmt.Errorf("it cannot last %g s, since its target is started again at once: leave the duration "+
			"out, or use %s", f.Heal, lab.FaultKill)
	case f.After < 0 || f.Heal < 0:
		return fmt.Errorf("it begins after %g s and lasts %g s: neither can be negative", f.After, f.Heal)
	}
	return f.Check()
}

// Begin implements lab.Injector. Faults may overlap. If an earlier fault of the same target excludes a fault,
// the later fault waits until the earlier one is healed.
func (Injector) Begin(ctx context.Context, faults []lab.Fault, targets []lab.FaultTarget) lab.Injection {
	p := &injection{ctx: ctx, targets: targets, start: time.Now()}
	p.loading, p.endLoad = context.WithCancel(ctx)
	for _, f := range faults {
		p.playing.Go(func() { p.play(f) })
	}
	return p
}

// injection holds the faults of a trial while they are played.
type injection struct {
	ctx     context.Context // of the trial
	loading context.Context // ends with the load, by endLoad, or with the trial
	endLoad context.CancelFunc
	targets []lab.FaultTarget
	start   time.Time
	playing sync.WaitGroup

	mu      sync.Mutex
	records []*lab.FaultRecord
	turns   []*turn // in the order in which they came due
}

// turn is a fault that has come due. It waits for an earlier fault of its target, is in effect, or is over.
type turn struct {
	fault lab.Fault
	over  chan struct{} // closed when the fault is healed, has failed or was not injected
}

// Over implements lab.Injection.
func (p *injection) Over() { p.endLoad() }

// End implements lab.Injection.
func (p *injection) End() []lab.FaultRecord {
	p.Over()
	p.playing.Wait()
	done := make([]lab.FaultRecord, 0, len(p.records))
	for _, r := range p.records {
		done = append(done, *r)
	}
	return done
}

// now returns the time in seconds since the start of the load.
func (p *injection) now() float64 { return time.Since(p.start).Seconds() }

// play injects a fault into its targets, one after another. The pause between the healing of a target and the
// harm of the next is as long as the fault (f.Heal).
func (p *injection) play(f lab.Fault) {
	targets := p.targetsOf(f)
	if len(targets) == 0 {
		p.record(f).Error = unknownTarget
	}
	for _, target := range targets {
		f.Target = target.Name
		p.harmAndHeal(f, target)
		f.After = max(f.After+2*f.Heal, p.now()+f.Heal) // now + Heal is too early if Harm failed
	}
}

// targetsOf returns the targets of a fault: the unit, service or node of that name; for lab.EveryUnit all
// units; for an update also the further replicas of the unit.
func (p *injection) targetsOf(f lab.Fault) []lab.FaultTarget {
	var targets []lab.FaultTarget
	for _, t := range p.targets {
		isOneOfAll := f.Target == lab.EveryUnit && t.Unit
		isReplica := f.Kind == lab.FaultUpdate && t.Group == f.Target
		if t.Name == f.Target || isOneOfAll || isReplica {
			targets = append(targets, t)
		}
	}
	return targets
}

// record begins the record of a fault.
func (p *injection) record(f lab.Fault) *lab.FaultRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &lab.FaultRecord{Fault: f}
	p.records = append(p.records, r)
	return r
}

// harmAndHeal injects a fault into one target, heals it, and records both. After an error of Harm it does not
// heal.
func (p *injection) harmAndHeal(f lab.Fault, target lab.FaultTarget) {
	own := &turn{f, make(chan struct{})}
	defer close(own.over)
	note, err := p.awaitTurn(own)
	r := p.record(f)
	if err != nil {
		r.Error = err.Error()
		return
	}
	proof, err := target.Harm(p.ctx, f)
	if err != nil {
		r.Error = err.Error()
		return
	}
	r.Began = p.now()
	r.Effective = true
	r.Proof = note + proof
	if !p.waitUntil(p.ctx, r.Began+f.Heal) { // not p.loading: heals even if the load has ended
		r.Error = "it was not healed, because the trial ended early"
		return
	}
	err = target.Heal(p.ctx, f)
	r.Noticed = target.Noticed(f.Target).Seconds()
	if err != nil {
		r.Error = fmt.Sprintf("it could not be healed: %v", err)
		return
	}
	r.Healed = p.now()
}

// awaitTurn waits until a fault is due, and then until no earlier fault of its target excludes it, since a
// healing may take longer than planned. If it had to wait for an earlier fault, it returns a note to put
// before the proof. It fails if the load ends first.
func (p *injection) awaitTurn(own *turn) (note string, err error) {
	if !p.waitUntil(p.loading, own.fault.After) {
		return "", p.missed(own.fault, "")
	}
	for _, earlier := range p.enqueue(own) {
		select {
		case <-earlier.over:
			continue
		default:
		}
		kind := earlier.fault.Kind
		select {
		case <-earlier.over:
		case <-p.loading.Done():
			return "", p.missed(own.fault, fmt.Sprintf(", when its target still had the fault %s", kind))
		}
		note = fmt.Sprintf("it began %.2f s late, when the fault %s of its target was healed; ",
			p.now()-own.fault.After, kind)
	}
	return note, nil
}

// enqueue adds a fault that has come due, and returns the earlier faults of its target that exclude it.
func (p *injection) enqueue(own *turn) (before []*turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, earlier := range p.turns {
		if earlier.fault.Target == own.fault.Target && earlier.fault.Kind.Excludes(own.fault.Kind) {
			before = append(before, earlier)
		}
	}
	p.turns = append(p.turns, own)
	return before
}

// missed returns the error of a fault that was not injected before the load ended. why follows the time at
// which the fault was due. It is "" or begins with a comma: ", when its target still had the fault cut".
func (p *injection) missed(f lab.Fault, why string) error {
	end, advice := "the load was over", ": let it begin earlier, or the load last longer"
	if p.ctx.Err() != nil {
		end, advice = "the trial ended early", ""
	}
	return fmt.Errorf("%s after %.1f s, and it was due after %.1f s%s%s", end, p.now(), f.After, why, advice)
}

// waitUntil waits until a time, in seconds since the start of the load. It returns false if ctx has ended.
func (p *injection) waitUntil(ctx context.Context, seconds float64) bool {
	timer := time.NewTimer(lab.Seconds(seconds - p.now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err() == nil
}
