package meter

import (
	"runtime"
	"time"
)

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
	h.calibrated.seconds, h.calibrated.at = fastest.Seconds(), time.Now()
}
