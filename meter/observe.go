package meter

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// shortestWindow is the number of ticks, of all processors together, below which shares of processor time
// are unavailable: /proc/stat counts in ticks, so one of 50 is already 2 %.
const shortestWindow = 50

// pressures returns the resources whose stall times are observed.
func pressures() []string { return []string{"cpu", "io", "memory"} }

// observation is an observation of the host's condition in a window.
type observation struct {
	host        *Host
	calibration float64 // seconds
	load        float64 // loadAverage, before any unit runs
	loadError   error
	// open and closing are the readings at the ends of the window, nil before they are reached.
	open, closing *reading
}

// reading is the state of the host's accounts at one moment.
type reading struct {
	at         time.Time
	own        time.Duration // CPU time of this process
	processors ticks
	err        error             // error of reading the processors' accounts
	stalled    map[string]int64  // microseconds since boot in which some task waited, by resource
	reasons    map[string]string // why a resource is missing in stalled
}

// ticks holds processor times since boot in units of 1/100 s, over all processors.
type ticks struct {
	busy  int64
	steal int64
	total int64
}

// calibrationHolds is the age up to which a calibration is reused. It is longer than the storing of a
// trial before the next one begins.
const calibrationHolds = 200 * time.Millisecond

// Observe calibrates the host before any unit of the trial runs, which takes some 35 ms. It reuses the
// calibration at the end of the last trial if that is recent. Open must be called at the first mark of the
// meter, and Close at the second: what the units use between a mark and its call would count as usage by
// others.
func (h *Host) Observe() (lab.Observation, error) {
	o := &observation{host: h}
	o.load, o.loadError = h.loadAverage()
	if time.Since(h.calibrated.at) > calibrationHolds {
		h.calibrate()
	}
	o.calibration = h.calibrated.seconds
	return o, nil
}

// Open implements lab.Observation.
func (o *observation) Open() { o.open = o.host.take() }

// Close implements lab.Observation.
func (o *observation) Close() { o.closing = o.host.take() }

// End calibrates again and returns the conditions in the window. unitCPUSeconds is the CPU time of the
// trial's own units in it.
func (o *observation) End(unitCPUSeconds float64) lab.Conditions {
	o.host.calibrate()
	c := lab.Conditions{
		CalibrationBefore: o.calibration,
		CalibrationAfter:  o.host.calibrated.seconds,
		LoadBefore:        o.load,
	}
	if o.loadError != nil {
		note(&c.Unavailable, o.loadError.Error(), "load_before")
	}
	if o.open == nil || o.closing == nil {
		note(&c.Unavailable, "the job did not run from its start to its end", "steal_share", "others_share",
			"pressure_shares")
		return c
	}
	shares(&c, o.open, o.closing, unitCPUSeconds)
	stalls(&c, o.open, o.closing)
	return c
}

// shares fills in the shares of processor time that the hypervisor withheld and that others used.
func shares(c *lab.Conditions, open, closing *reading, unitCPUSeconds float64) {
	if err := errors.Join(open.err, closing.err); err != nil {
		note(&c.Unavailable, err.Error(), "steal_share", "others_share")
		return
	}
	total := closing.processors.total - open.processors.total
	if total < shortestWindow {
		note(&c.Unavailable, fmt.Sprintf("the window of %d ticks over all processors is shorter than %d: one "+
			"tick would weigh too much", total, shortestWindow), "steal_share", "others_share")
		return
	}
	all := float64(total) / ticksPerSecond
	c.StealShare = float64(closing.processors.steal-open.processors.steal) / float64(total)
	busy := float64(closing.processors.busy-open.processors.busy) / ticksPerSecond
	others := busy - unitCPUSeconds - (closing.own - open.own).Seconds()
	// The two times come from different accounts (ticks and nanoseconds), so the difference can be slightly
	// below zero on an idle host.
	c.OthersShare = max(0, others/all)
}

// stalls fills in the share of the window in which at least one task waited, by resource.
func stalls(c *lab.Conditions, open, closing *reading) {
	window := closing.at.Sub(open.at)
	c.PressureShares = make(map[string]float64)
	for _, resource := range pressures() {
		if reason := cmp.Or(open.reasons[resource], closing.reasons[resource]); reason != "" {
			note(&c.Unavailable, reason, "pressure_shares."+resource)
			continue
		}
		stalled := time.Duration(closing.stalled[resource]-open.stalled[resource]) * time.Microsecond
		c.PressureShares[resource] = stalled.Seconds() / window.Seconds()
	}
}

// take reads all accounts of the host.
func (h *Host) take() *reading {
	r := &reading{stalled: make(map[string]int64), reasons: make(map[string]string)}
	r.processors, r.err = h.processorTicks()
	for _, resource := range pressures() {
		stalled, err := h.stalled(resource)
		if err != nil {
			r.reasons[resource] = err.Error()
			continue
		}
		r.stalled[resource] = stalled
	}
	own, err := ownCPU()
	r.own = own
	r.err = errors.Join(r.err, err)
	r.at = time.Now()
	return r
}

// ownCPU returns the CPU time of this process with all its threads.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// processorTicks reads the first line of /proc/stat (proc_stat(5)): user, nice,
// system, idle, iowait, irq, softirq, steal. Guest time is part of user time.
func (h *Host) processorTicks() (ticks, error) {
	text, err := h.read("/proc/stat")
	if err != nil {
		return ticks{}, err
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	const count = 8
	if len(fields) < count+1 || fields[0] != "cpu" {
		return ticks{}, fmt.Errorf("/proc/stat starts with %q, want the line of all processors", line)
	}
	var values [count]int64
	var t ticks
	for i := range values {
		if values[i], err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
			return ticks{}, fmt.Errorf("/proc/stat: %q is no number", fields[i+1])
		}
		t.total += values[i]
	}
	const idle, waiting, stolen = 3, 4, 7
	t.steal = values[stolen]
	t.busy = t.total - values[idle] - values[waiting] - values[stolen]
	return t, nil
}

// stalled returns the time since boot in which at least one task waited for the resource, in microseconds
// (Linux "Pressure Stall Information").
func (h *Host) stalled(resource string) (int64, error) {
	text, err := h.read("/proc/pressure/" + resource)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(text, "\n")
	_, total, found := strings.Cut(line, "total=")
	value, err := strconv.ParseInt(total, 10, 64)
	if !found || err != nil || !strings.HasPrefix(line, "some ") {
		return 0, fmt.Errorf("/proc/pressure/%s starts with %q, want the line \"some\" with its total", resource,
			line)
	}
	return value, nil
}

// loadAverage returns the mean number of tasks that were runnable or in uninterruptible sleep, over the last
// minute (proc_loadavg(5)).
func (h *Host) loadAverage() (float64, error) {
	text, err := h.read("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	minute, _, _ := strings.Cut(text, " ")
	value, err := strconv.ParseFloat(minute, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/loadavg holds %q, want numbers", text)
	}
	return value, nil
}

// A calibration consists of three equal spins of about 10 ms each on a processor of 2.6 GHz. The fastest
// one counts, so one interruption does not matter, while a slower clock or a stolen processor slows all
// three.
const (
	calibrationSpins = 3
	calibrationSteps = 8_000_000
)

// spin does a fixed computation without memory access: a xorshift generator (Marsaglia 2003, "Xorshift
// RNGs", section 3, triple 13, 7, 17), each step of which needs the previous one. It returns the result
// so that the compiler does not remove the computation.
func spin(steps int) uint64 {
	x := uint64(88172645463325252)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate measures the wall time of the fixed computation, and keeps it with the time of day.
func (h *Host) calibrate() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fastest := time.Duration(1<<63 - 1)
	for range calibrationSpins {
		start := time.Now()
		runtime.KeepAlive(spin(calibrationSteps))
		fastest = min(fastest, time.Since(start))
	}
	h.calibrated.seconds = fastest.Seconds()
	h.calibrated.at = time.Now()
}
