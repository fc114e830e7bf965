// Package traces reads the spans that users' systems have recorded and says what an operation consists of:
// for each service and operation the calls, the self time, the time on the critical path and the errors.
//
// It draws no conclusions from two sets: package report/analysis does.
//
// Entry points: Read for files and folders, Collector for the spans of trials; Summary and Trees for what
// they say.
package traces
