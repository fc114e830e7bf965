package shm

import "time"

// monitorSlack is the timer slack of the Go runtime's monitor: long enough for its wake-ups to coincide with
// ticks of the kernel. The monitor wakes up a hundred times a second while its process has work. It has
// nothing to do here, but those of 500 processes interrupt the workers 50,000 times a second, which was 12 %
// of the cost of a round trip at 10x50 (2 % at 10x10).
const monitorSlack = 200 * time.Millisecond
