package shm

import "time"

// monitorSlack is by how much the wake-ups of the Go runtime's monitor may be late:
// long enough for them to coincide with the kernel's own ticks. It wakes up a hundred
// times a second while its process has work. It has nothing to do here, but 500 of
// them interrupt the workers 50,000 times a second, which was 12 % of the cost of a
// round trip at 10x50 (2 % at 10x10).
const monitorSlack = 200 * time.Millisecond
