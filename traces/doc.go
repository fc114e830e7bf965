// Package traces reads the spans that users' systems have recorded, and returns the parts of an
// operation: for each service and operation the calls, the self time, the time on the critical path and
// the errors.
//
// It does not compare sets of traces: package report/analysis does.
//
// Entry points: Read for files and folders, Collector for the spans of trials; Summary and Trees for the
// results.
package traces
