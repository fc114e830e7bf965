// Package record keeps what happened to operations under load: how each ended
// and how long it took, in HdrHistograms by operation, outcome and second.
//
// A Recorder belongs to one loop of the engine: Record takes some tens of
// nanoseconds and allocates nothing. Every second it hands its Results to
// Collect, which adds them up and passes them on, to a LogWriter for example.
// Results merge by adding, so several loops and several engines give one
// answer without loss. Results.Summary is what `cleave load` says in JSON.
//
// The package reads no clock and sends nothing. Times in histograms are
// nanoseconds with three significant digits; in documents they are seconds.
package record
