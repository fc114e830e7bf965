package rehearsalunit

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spinsPerTest spins of stepsPerSpin steps, about a millisecond each, measure the speed of this host.
	spinsPerTest = 25
	stepsPerSpin = 500_000
	// One burn in sampledBurns is measured.
	sampledBurns = 32
)

// burner uses CPU time: it computes as many steps as took that time when the unit began. Like the work of any
// program, they take longer beside other work on the same core.
type burner struct {
	steps       float64 // per second of CPU time
	burns       atomic.Int64
	asked, took atomic.Int64 // nanoseconds of the burns that were measured
}

// newBurner measures how fast this host is, as the median of several spins.
func newBurner() *burner {
	speeds := make([]float64, spinsPerTest)
	for i := range speeds {
		speeds[i] = stepsPerSpin / onThread(func() { runtime.KeepAlive(spin(stepsPerSpin)) }).Seconds()
	}
	slices.Sort(speeds)
	return &burner{steps: speeds[spinsPerTest/2]}
}

// burn uses CPU time.
func (b *burner) burn(cpu time.Duration) {
	if cpu <= 0 {
		return
	}
	work := func() { runtime.KeepAlive(spin(int(cpu.Seconds() * b.steps))) }
	if b.burns.Add(1)%sampledBurns != 0 {
		work()
		return
	}
	b.took.Add(int64(onThread(work)))
	b.asked.Add(int64(cpu))
}

// spin computes a number of steps, each of which needs the one before.
func spin(steps int) uint64 {
	x := uint64(88172645463325252)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// onThread returns the CPU time that work takes on its thread.
func onThread(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := clock(unix.CLOCK_THREAD_CPUTIME_ID)
	work()
	return clock(unix.CLOCK_THREAD_CPUTIME_ID) - before
}

// clock reads a clock of the kernel. Those of CPU time cannot fail.
func clock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}
