package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/load/search"
)

// Trial is a load that is ready to be played, any number of times.
type Trial struct {
	spec    Spec
	target  engine.Target
	ticket  consent.Ticket
	request []byte
	oracle  engine.Oracle
	plan    schedule.Schedule // of an open loop
}

// Outcome is what a trial found.
type Outcome struct {
	Summary record.Summary
	Results *record.Results
	Report  engine.Report
	Oracle  string // what answers were checked for, in words
	// Backlog is how the operations that were due and not done piled up.
	Backlog search.Growth
}

// Play sends the load. each, if given, is called with the results of every
// second and must not keep them. When the context ends early the outcome holds
// what was done until then.
func (t *Trial) Play(ctx context.Context, each func(*record.Results) error) (Outcome, error) {
	if until := t.ticket.Until; !t.ticket.Own && time.Now().Add(t.spec.Duration).After(until) {
		return Outcome{}, fmt.Errorf("the permission to load %s ends at %s, before the load would", t.spec.URL, until.Format(time.RFC3339))
	}
	recorder, err := record.NewRecorder(record.Options{
		Operations: []string{t.spec.operation()}, Window: t.spec.Duration, Timeout: t.spec.Timeout,
		LateAfter: time.Millisecond + t.spec.Pacing.Lateness(),
	})
	if err != nil {
		return Outcome{}, err
	}
	before, err := processorTime()
	if err != nil {
		return Outcome{}, err
	}
	var o Outcome
	var played error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Report, played = engine.Run(ctx, t.config(recorder))
	}()
	results, err := record.Collect(each, recorder)
	<-ended
	after, cpuErr := processorTime()
	if o.Report.Elapsed == 0 { // it never began
		return o, errors.Join(played, err, cpuErr)
	}
	o.Results, o.Oracle = results, t.oracle.String()
	memoryErr := t.sumUp(&o, after-before)
	return o, errors.Join(played, err, cpuErr, memoryErr)
}

// config is the load for the engine.
func (t *Trial) config(recorder *record.Recorder) engine.Config {
	s := &t.spec
	config := engine.Config{
		Target: t.target, Request: t.request, HeadRequest: s.Method == "HEAD", Oracle: t.oracle,
		Duration: s.Duration, Connections: s.Connections, Timeout: s.Timeout, Pacing: s.Pacing, Recorder: recorder,
	}
	if s.Users > 0 {
		config.Users = &engine.Users{Number: s.Users, Think: s.Think, RampUp: s.RampUp}
	} else {
		config.Open = t.plan.Arrivals()
	}
	return config
}

// sumUp fills the summary.
func (t *Trial) sumUp(o *Outcome, cpu time.Duration) error {
	var offered *int64
	window := o.Report.Window
	if t.spec.Users == 0 {
		n := t.plan.Count(0, window)
		offered = &n
		o.Backlog = t.backlog(o.Report.Ended)
	}
	s := o.Results.Summarize(window, offered)
	s.Target, s.Model = t.spec.URL, t.spec.model()
	if t.spec.Unix != "" {
		s.Target = t.spec.URL + " at " + t.spec.Unix
	}
	if !t.oracle.Checked() {
		s.Unchecked = []string{t.spec.operation()}
	}
	memory, err := peakMemory()
	s.Generator = record.Generator{CPUSeconds: cpu.Seconds(), PeakMemory: memory, Pacing: t.spec.Pacing.String()}
	if t.spec.Users > 0 {
		s.Closed = t.littlesLaw(o)
	}
	cores := 1.0 // the engine is one thread
	if t.spec.Pacing.Spins() {
		cores = math.Inf(1) // it is busy by the user's wish
	}
	s.CheckGenerator(cores, o.Report.Elapsed, t.spec.Pacing.Lateness())
	o.Summary = s
	return err
}

// littlesLaw holds the closed loop against its own numbers. All three sums are
// over the users' own time, so that neither a ramp-up nor operations that
// outlast the window count as a difference.
func (t *Trial) littlesLaw(o *Outcome) *record.ClosedLoop {
	sent := float64(o.Results.Sent(record.All))
	perUser := o.Report.UserTime.Seconds() / float64(t.spec.Users)
	if sent == 0 || perUser <= 0 {
		return nil
	}
	pause := time.Duration(float64(o.Report.PauseTime) / sent)
	c := record.LittlesLaw(t.spec.Users, sent/perUser, o.Report.ServiceTime.Seconds()/sent, pause)
	c.ThinkTime = t.spec.Think.Seconds()
	return &c
}

// backlog is the trend of operations due and not done.
func (t *Trial) backlog(ended []int64) search.Growth {
	values := make([]float64, len(ended))
	arrivals := t.plan.Arrivals()
	next, more := arrivals.Next()
	due := int64(0)
	for i, n := range ended {
		at := time.Duration(i+1) * engine.EndedEvery
		for ; more && next < at; next, more = arrivals.Next() {
			due++
		}
		values[i] = float64(due - n)
	}
	return search.BacklogGrows(values, engine.EndedEvery, t.spec.Rate)
}

// processorTime is what this process has used so far.
func processorTime() (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read own processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// peakMemory is the most that was ever resident, in bytes.
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if amount, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(amount), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("read own memory: /proc/self/status has no VmHWM")
}
