package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// The rooms are fakes here: these tests check what the conductor does when a room fails. The tests of
// cmd/cleave use the real rooms.

// rooms is a fake of every room of the lab at once. Attempts are numbered over all trials, from 1.
type rooms struct {
	played    []string                    // variant at point, in order
	spoil     map[int]error               // errors of jobs, by attempt
	audits    map[string]lab.AuditVerdict // by variant, default valid
	steal     map[int]float64             // steal shares, by attempt
	spin      map[int]float64             // calibration times in seconds, by attempt, default 1
	stopError error
	saveError error
	preflight error
	saved     []lab.Trial
	stopped   int // number of deployments
	cancelAt  int // the attempt that calls cancel
	cancel    context.CancelFunc
	notes     []string
	watched   []string // calls of the watchers
	further   []int    // number of trials of each further block
	begun     int      // trials that were done when Play began
	socket    int      // length of the name of a Unix socket
}

func (r *rooms) Describe() lab.SystemInfo { return lab.SystemInfo{Name: "stand-in"} }

func (r *rooms) Layout(v lab.Variant, p lab.Point, _ uint64) (lab.Layout, error) {
	return lab.Layout{Lead: v.Name + " at " + p.Name, Operations: 100, SocketName: r.socket,
		Units: []lab.UnitSpec{{Name: "one"}}}, nil
}

func (r *rooms) Audit(v lab.Variant, _ lab.Point, _ []lab.UnitReport) lab.Audit {
	if verdict, ok := r.audits[v.Name]; ok {
		return lab.Audit{Verdict: verdict, Problems: []string{"lost a ping"}}
	}
	return lab.Audit{Verdict: lab.AuditValid}
}

func (r *rooms) Name() string { return "process" }
func (r *rooms) Can() lab.Capabilities {
	return lab.Capabilities{Faults: []lab.FaultKind{lab.FaultKill}}
}
func (r *rooms) Preflight(context.Context, lab.Layout) error { return r.preflight }

func (r *rooms) Deploy(_ context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	r.played = append(r.played, layout.Lead)
	if layout.Loaded != nil {
		layout.Loaded(lab.LoadSecond{Failed: int64(len(r.played))})
	}
	if len(r.played) == r.cancelAt {
		r.cancel()
	}
	return &deployment{rooms: r, layout: layout, dir: dir, attempt: len(r.played), failed: make(chan struct{})},
		nil
}

func (r *rooms) Watch(context.Context, []lab.Unit) (lab.Metering, error) { return metering{}, nil }

type metering struct{}

func (metering) Mark() error           { return nil }
func (metering) Suspend(string) error  { return nil }
func (metering) Resume(lab.Unit) error { return nil }
func (metering) Stop() (lab.Metered, error) {
	return lab.Metered{Total: lab.Usage{CPUSeconds: 3}, Course: &lab.UsageCourse{End: []float64{1}}}, nil
}

func (r *rooms) Environment() lab.Environment { return nil }

func (r *rooms) Observe() (lab.Observation, error) { return observation{r}, nil }

type observation struct{ *rooms }

func (o observation) Open()  {}
func (o observation) Close() {}

func (o observation) End(float64) lab.Conditions {
	spin, ok := o.spin[len(o.played)]
	if !ok {
		spin = 1
	}
	return lab.Conditions{StealShare: o.steal[len(o.played)], CalibrationBefore: spin, CalibrationAfter: spin}
}

func (r *rooms) Save(trial lab.Trial, _ map[string]string) error {
	if r.saveError != nil {
		return r.saveError
	}
	r.saved = append(r.saved, trial)
	return nil
}

func (r *rooms) Trials() ([]lab.Trial, error) { return r.saved, nil }

func (r *rooms) Begin(_ lab.Plan, done int)         { r.begun = done }
func (r *rooms) Further(trials []lab.PlannedTrial)  { r.further = append(r.further, len(trials)) }
func (r *rooms) TrialStarted(lab.PlannedTrial, int) {}
func (r *rooms) TrialEnded(lab.Trial)               {}
func (r *rooms) Note(text string)                   { r.notes = append(r.notes, text) }
func (r *rooms) End()                               {}

func (r *rooms) conductor(t *testing.T) Conductor {
	t.Helper()
	return Conductor{
		System: r, Deployers: map[string]lab.Deployer{"process": r}, Meter: r, Host: r, Store: r, Progress: r,
		Seconds: r, Stopping: &fakeRule{}, Scratch: t.TempDir(),
		Conceal: func(text string) string { return text },
	}
}

// verdicts describes the records, such as "1/1 valid" (trial 1, attempt 1) or "2/1 host withheld ...".
func (r *rooms) verdicts() (verdicts []string) {
	for _, trial := range r.saved {
		verdict := "valid"
		if !trial.Valid {
			verdict = trial.Reason
		}
		verdicts = append(verdicts, fmt.Sprintf("%d/%d %s", trial.Number, trial.Attempt, verdict))
	}
	return verdicts
}

// expectVerdicts checks the verdicts of all records, in order.
func (r *rooms) expectVerdicts(t *testing.T, want []string) {
	t.Helper()
	if got := r.verdicts(); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

// plan returns a plan of a number of trials, of the variants a and b in turn.
func plan(trials int) lab.Plan {
	p := lab.Plan{Study: lab.Study{
		Variants: []lab.Variant{{Name: "a", Deployment: "process"}, {Name: "b", Deployment: "process"}},
		Points:   []lab.Point{{Name: "s1"}},
		Design: lab.Design{
			MaxRepeats: 1, TrialTimeout: 60, Gates: lab.Gates{MaxStealShare: 0.01, MaxCalibrationDrift: 0.05},
		},
	}}
	for i := range trials {
		p.Trials = append(p.Trials, lab.PlannedTrial{Number: i + 1, Block: 1, Variant: []string{"a", "b"}[i%2],
			Point: "s1"})
	}
	return p
}

func TestPlayFollowsThePlan(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), plan(3)))
	if want := []string{"a at s1", "b at s1", "a at s1"}; !slices.Equal(r.played, want) {
		t.Errorf("played %v, want %v", r.played, want)
	}
	trial := r.saved[0]
	if !trial.Valid || trial.ElapsedSeconds != 2 || trial.Operations != 100 ||
		trial.Metered.Total.CPUSeconds != 3 || trial.Units != 1 {
		t.Errorf("record %+v", trial)
	}
	left, err := os.ReadDir(c.Scratch)
	if err != nil || len(left) != 0 || r.stopped != 3 {
		t.Errorf("%d deployments stopped, %d directories left, %v", r.stopped, len(left), err)
	}
}

func TestSpoiltTrialsAreRepeatedAndKept(t *testing.T) {
	r := &rooms{spoil: map[int]error{1: errors.New("worker-7 ended: signal: killed")}}
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), plan(2)))
	want := []string{"1/1 worker-7 ended: signal: killed", "1/2 valid", "2/1 valid"}
	r.expectVerdicts(t, want)
}

// TestTheRecordOfAFailedTrialFollowsItsSchema checks the record of a trial of which nothing was metered.
func TestTheRecordOfAFailedTrialFollowsItsSchema(t *testing.T) {
	r := &rooms{spoil: map[int]error{1: errors.New("worker-7 ended: signal: killed")}}
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), plan(1)))
	record, err := json.Marshal(r.saved[0])
	testset.Must(t, err)
	testset.Must(t, schema.Validate("trial", record))
}

func TestRepeatsAreLimited(t *testing.T) {
	r := &rooms{audits: map[string]lab.AuditVerdict{"a": lab.AuditInvalid, "b": lab.AuditUnknown}}
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), plan(2)))
	want := []string{
		"1/1 audit invalid: lost a ping", "1/2 audit invalid: lost a ping",
		"2/1 audit unknown: lost a ping", "2/2 audit unknown: lost a ping",
	}
	r.expectVerdicts(t, want)
}

func TestGatesStrikeOutDisturbedTrials(t *testing.T) {
	r := &rooms{steal: map[int]float64{2: 0.02}, spin: map[int]float64{8: 1.06, 9: 0.94, 10: 1.04}}
	c := r.conductor(t)
	p := plan(8)
	p.Study.Design.MaxRepeats = 2
	testset.Must(t, c.Play(t.Context(), p))
	got := r.verdicts()
	for i, want := range map[int]string{
		1: "2/1 the hypervisor withheld 2.0 % of the processors, the gate is 1.0 %",
		7: "7/1 the host was slower: a fixed computation took 6.0 % more time than the median of 7 trials, " +
			"the gate is 5.0 %",
		8: "7/2 the host was faster: a fixed computation took 6.0 % less time than the median of 8 trials, " +
			"the gate is 5.0 %",
		9: "7/3 valid",
	} {
		if got[i] != want {
			t.Errorf("record %d is %q, want %q", i, got[i], want)
		}
	}
}

// TestASearchIsGatedLoadByLoad checks that the steal of a whole search is ignored, that a disturbed load is
// not, and that the gate for the speed of the host is wider by the width of the bracket.
func TestASearchIsGatedLoadByLoad(t *testing.T) {
	p := plan(1)
	p.Study.Metrics = []lab.Metric{{Name: "most", Quantity: lab.Capacity}}
	e := experiment{plan: p, calibrations: []float64{1, 1, 1, 1, 1}}
	search := lab.Search{Loads: []lab.SearchLoad{{Rate: 100, Pass: true}, {Rate: 110}}}
	for name, c := range map[string]struct {
		spin      float64
		disturbed string
		want      string
	}{
		"as ever":      {1, "", ""},
		"a bit faster": {0.86, "", ""}, // the gate of 5 % is wider by the bracket of 10 %
		"much faster":  {0.84, "", "the host was faster: a fixed computation took 16.0 % less time"},
		"a load":       {1, "withheld", "search, each time that 110/s was played: withheld"},
	} {
		search.Loads[1].Disturbed = c.disturbed
		trial := lab.Trial{Search: &search, Measures: map[string]float64{"most": 100},
			Conditions: lab.Conditions{StealShare: 0.05, CalibrationBefore: c.spin, CalibrationAfter: c.spin}}
		if got := e.disturbed(&trial); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestInterruptionKeepsFinishedTrialsAndResumeGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &rooms{cancelAt: 2, cancel: cancel}
	c := r.conductor(t)
	if err := c.Play(ctx, plan(4)); !Interrupted(err) {
		t.Fatalf("Play: %v, want interrupted", err)
	}
	if got := r.verdicts(); !slices.Equal(got, []string{"1/1 valid"}) || r.stopped != 2 {
		t.Errorf("records %q and %d deployments stopped; want the first trial and 2", got, r.stopped)
	}
	r.played = nil
	testset.Must(t, c.Play(t.Context(), plan(4)))
	if len(r.played) != 3 || r.begun != 1 {
		t.Errorf("resume played %d trials after %d done, want 3 after 1", len(r.played), r.begun)
	}
}

func TestResumeCountsAttemptsMadeBefore(t *testing.T) {
	r := &rooms{saved: []lab.Trial{{Number: 1, Attempt: 1, Reason: "x"}, {Number: 2, Attempt: 2, Reason: "y"}}}
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), plan(2)))
	if got := r.verdicts(); len(got) != 3 || got[2] != "1/2 valid" {
		t.Errorf("records %q, want the second attempt of trial 1 and nothing of trial 2", got)
	}
	if r.begun != 1 {
		t.Errorf("%d trials done before, want trial 2, whose attempts are used up", r.begun)
	}
}

func TestErrorsThatEndTheExperiment(t *testing.T) {
	for name, test := range map[string]struct {
		rooms rooms
		says  string
	}{
		"store fails":    {rooms{saveError: errors.New("disk full")}, "disk full"},
		"clean-up fails": {rooms{stopError: errors.New("process 7 does not end")}, "process 7 does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.rooms.conductor(t)
			err := c.Play(t.Context(), plan(2))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Play: %v, want it to say %q", err, test.says)
			}
			if len(test.rooms.played) > 1 {
				t.Errorf("%d trials played after the failure", len(test.rooms.played)-1)
			}
		})
	}
}

func TestAPlanThatNoHostCanPlayIsRefused(t *testing.T) {
	c := (&rooms{}).conductor(t)
	impossible := plan(1)
	impossible.Trials[0].Point = "nowhere"
	var refused *PlanError
	if _, err := c.Lacks(t.Context(), impossible); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), `no point "nowhere"`) {
		t.Errorf("Lacks: %v, want a PlanError about the point", err)
	}
}

// TestAPartIsMissingWhereItIsNeeded checks that Lacks names every part once, without points if it is lacking
// everywhere, and leaves out twins.
func TestAPartIsMissingWhereItIsNeeded(t *testing.T) {
	lost := &lab.MissingError{What: "no balancer", Install: "bring it"}
	r := &rooms{preflight: errors.Join(lost, errors.Join(lost, errors.New("no room")))}
	c := r.conductor(t)
	p := plan(2)
	p.Study.Variants[1].TwinOf = p.Study.Variants[0].Name
	got, err := c.Lacks(t.Context(), p)
	if err != nil || len(got) != 2 || got[0].Variant != "a" || got[0].Err != lost || got[0].Points != nil ||
		got[1].Err.Error() != "no room" {
		t.Errorf("Lacks: %+v, %v; want both parts of a, everywhere", got, err)
	}
}

func TestTimeoutSpoilsOnlyTheTrial(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	p := plan(1)
	p.Study.Design.TrialTimeout = float64(time.Nanosecond) / float64(time.Second)
	testset.Must(t, c.Play(t.Context(), p))
	if got := r.verdicts(); len(got) != 2 || got[0] != "1/1 not finished after 1ns" {
		t.Errorf("records %q, want two attempts that took too long", got)
	}
}

func TestWarmUpPlaysEachVariantOnceUnrecorded(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	p := plan(2)
	p.Study.Design.WarmupTrials = 1
	testset.Must(t, c.Play(t.Context(), p))
	if len(r.played) != 4 || len(r.saved) != 2 || len(r.notes) != 2 {
		t.Errorf("%d played, %d recorded, notes %q; want 4, 2 and two notes", len(r.played), len(r.saved), r.notes)
	}
}

func TestGateIsNoNarrowerThanTheHostsOwnNoise(t *testing.T) {
	r := &rooms{spin: map[int]float64{}}
	for i, spin := range []float64{0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 1.6, 1.0} {
		r.spin[i+1] = spin
	}
	c := r.conductor(t)
	p := plan(8)
	p.Study.Design.MaxRepeats = 0
	testset.Must(t, c.Play(t.Context(), p))
	for i, trial := range r.saved {
		if disturbed := i == 6; trial.Valid == disturbed {
			t.Errorf("trial %d with a spin of %g s: %q", i+1, r.spin[i+1], trial.Reason)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %g, want %g", values, got, want)
		}
	}
}

// TestPathsThatAreTooLongForSocketsAreAMissingPart checks the limit to the byte, and that there is none
// without sockets.
func TestPathsThatAreTooLongForSocketsAreAMissingPart(t *testing.T) {
	const name = len("worker.sock")
	fits := maxUnixPath - len("/1-1/") - name
	for _, c := range []struct {
		scratch, socket int
		want            bool
	}{{fits, name, false}, {fits + 1, name, true}, {fits + 100, 0, false}} {
		r := &rooms{socket: c.socket}
		conductor := r.conductor(t)
		conductor.Scratch = "/" + strings.Repeat("x", c.scratch-1)
		lacks, err := conductor.Lacks(t.Context(), plan(1))
		testset.Must(t, err)
		if len(lacks) > 0 != c.want || c.want && !strings.Contains(lacks[0].Err.Error(), "TMPDIR") {
			t.Errorf("a folder of %d bytes and a socket of %d: %v, want it refused: %t", c.scratch, c.socket, lacks,
				c.want)
		}
	}
}
