// Package meter reads what the units of a trial use, and how the host fares.
//
// It has three parts: Meter (CPU time, context switches, memory and bytes of
// running processes between two marks), the environment of a Host (what the
// machine is and what it cannot do) and the observations of a Host (steal, other
// processes, pressure and the speed of a fixed computation around a trial).
// Everything comes from the Linux kernel's own accounts: process CPU clocks and
// /proc. The units are not touched, traced or slowed down by signals.
//
// It is not a profiler, knows no deployment and starts no process. A quantity
// that cannot be read has a reason in its place and is never just zero.
//
// Entry points: New and Meter.Watch for units, NewHost for the machine.
// DESIGN.md in this folder says why each source was chosen and what it misses.
package meter
