package rehearsalunit

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// The speed of this host is measured with spinsPerTest spins. Each has stepsPerSpin steps and takes about
	// a millisecond.
	spinsPerTest = 25
	stepsPerSpin = 500_000
	// One in sampledBurns burns is measured.
	sampledBurns = 32
)

// burner uses CPU time by computing steps. The speed of the steps is measured when the unit starts. Like any
// work, steps are slower next to other work on the same core.
type burner struct {
	steps       float64 // per second of CPU time
	burns       atomic.Int64
	asked, took atomic.Int64 // demanded and actual nanoseconds of the measured burns
	probed      atomic.Int64 // actual nanoseconds of the burns of probes
}

// newBurner returns a burner that has measured the speed of this host: the median of several spins.
func newBurner() *burner {
	speeds := make([]float64, spinsPerTest)
	for i := range speeds {
		took := threadCPU(func() { runtime.KeepAlive(spin(stepsPerSpin)) })
		speeds[i] = stepsPerSpin / took.Seconds()
	}
	slices.Sort(speeds)
	return &burner{steps: speeds[spinsPerTest/2]}
}

// burn uses an amount of CPU time. It measures one burn in sampledBurns.
func (b *burner) burn(cpu time.Duration) {
	if cpu <= 0 {
		return
	}
	if b.burns.Add(1)%sampledBurns != 0 {
		b.compute(cpu)
		return
	}
	took := threadCPU(func() { b.compute(cpu) })
	b.took.Add(int64(took))
	b.asked.Add(int64(cpu))
}

// probe uses an amount of CPU time in a probe (see calibrate), and counts what it took.
func (b *burner) probe(cpu time.Duration) {
	if cpu > 0 {
		took := threadCPU(func() { b.compute(cpu) })
		b.probed.Add(int64(took))
	}
}

// compute computes the steps that take an amount of CPU time at the measured speed.
func (b *burner) compute(cpu time.Duration) { runtime.KeepAlive(spin(int(cpu.Seconds() * b.steps))) }

// spin computes a number of steps (xorshift), each of which depends on the one before.
func spin(steps int) uint64 {
	x := uint64(88172645463325252)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// threadCPU returns the CPU time that work takes on its thread.
func threadCPU(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := clock(unix.CLOCK_THREAD_CPUTIME_ID)
	work()
	return clock(unix.CLOCK_THREAD_CPUTIME_ID) - before
}

// clock returns the time of a clock of the kernel. Reading the clocks of CPU time cannot fail.
func clock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}
