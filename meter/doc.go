// Package meter measures the usage of a trial's units, and the condition of the host.
//
// It has three parts: Meter (CPU time, context switches, memory and bytes of running processes between
// two marks, and CPU time by thread), the environment of a Host (its properties and missing capabilities) and
// the observations of a Host (steal, other processes, pressure and the speed of a fixed computation around a
// trial). The usage of units comes from the Linux kernel's own accounts: process CPU clocks, /proc and, for
// containers, control groups. The units are not changed, traced or slowed down by signals.
//
// It is not a profiler, knows no deployment and starts no process. For a quantity that cannot be read it
// gives a reason instead of zero.
//
// Entry points: New, Meter.Watch and Meter.Threads for units, NewHost for the machine. DESIGN.md in this
// folder explains the choice of each source and its limits.
package meter
