// Package record keeps the results of operations under load: outcomes and times, in HdrHistograms by
// operation, outcome and second.
//
// A Recorder belongs to one loop of the engine: Record takes some tens of nanoseconds and allocates
// nothing. Every second it passes its Results to Collect, which adds them up and passes them on, to a
// LogWriter for example. Results are merged by adding, so that several loops and several engines give one
// result without loss. Results.Summarize returns the JSON document of `cleave load`.
//
// The package reads no clock and sends nothing. Times in histograms are nanoseconds with three
// significant digits; in documents they are seconds.
package record
