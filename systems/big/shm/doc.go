// Package shm runs Big as a process per worker. Messages are passed through
// shared memory: it has an inbox per worker (binding/ring), a cache line per
// neighbourhood and one for the core (board.go).
//
// Every message is handled by the process of the worker it is for; no other
// process reads its inbox. Registration, kick-off, finish and dismissal go through
// the same memory. A process that waits sleeps on a futex: the core uses no
// processor time while workers run.
//
// A round trip costs at least one switch between processes, because a worker
// that has pinged cannot get its pong before its neighbours have run. This package
// saves everything else:
//
//   - A worker with an empty inbox yields the processor before it sleeps (rest.go).
//     The neighbours run in turn, and when it runs again its pong is there: one
//     system call per round trip in place of several.
//   - With the knob gang, one neighbourhood per processor is awake at a time, for
//     20 ms; the others sleep at their gates (rest.go). The processes that take
//     turns are then few enough to stay in the caches. All neighbourhoods make
//     progress; figures of the audit say how evenly.
//   - A process works on one goroutine and allocates nothing for a message; waiting
//     does not go through the Go scheduler, and the wake-ups of the runtime's
//     monitor are delayed (worker.go).
//   - The memory of a round trip is on few pages: after every switch of processes
//     the processor has to translate their addresses again.
//
// If other programs use the processor, a yield may last as long as their time
// slice: elapsed times increase, CPU times do not.
//
// A worker that is killed leaves others waiting for its messages. This package
// does not detect that; the deployer notices the death and ends the trial.
//
// Entry points: NewCore for the core's process, RunWorker for a worker's.
package shm
