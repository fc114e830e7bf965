// Package shm runs Big as a process per worker whose messages cross through
// memory that all processes share: an inbox per worker (binding/ring), a line
// per neighbourhood and one for the core (board.go).
//
// Every message is handled by the process of the worker it is for; nobody else
// looks into an inbox. Registration, kick-off, finish and dismissal cross through
// the same memory, and whoever waits sleeps on a futex: the core uses no
// processor time while workers run.
//
// A round trip costs at least one switch between processes, because a worker
// that has pinged cannot get its pong before its neighbours have run. What can be
// saved is everything else, and that is how this package is built:
//
//   - A worker with an empty inbox yields the processor before it sleeps (rest.go).
//     The neighbours run in turn, and when it runs again its pong is there: one
//     system call per round trip in place of several.
//   - With the knob gang, one neighbourhood per processor is awake at a time, for
//     20 ms, the others sleep at their gates (rest.go). The processes that take
//     turns are then few enough to stay in the caches. All neighbourhoods make
//     progress; the audit tells how evenly.
//   - One goroutine and no allocation per message; waiting does not go through
//     the Go scheduler, and the runtime's monitor is told to be late (monitor.go).
//   - What a round trip touches lies on few pages: after every switch the
//     processor has to translate their addresses anew.
//
// Yielding is impolite only to itself: on a processor that others use, too, a
// yield may last as long as their time slice. Elapsed times then suffer, CPU
// times do not.
//
// A worker that is killed leaves others waiting for its messages. Nothing here
// detects that; whoever deployed the workers sees the death and ends the trial.
//
// Entry points: NewCore for the core's process, RunWorker for a worker's.
package shm
