// Package spans says where the time of an operation goes, from process to process:
// bindings, database clients and entries make spans with the OpenTelemetry API, and
// a Provider keeps them until the process ends.
//
//   - Few operations are traced: the entry decides by the trace's number (head
//     sampling), and everybody after it follows. An operation that is not traced
//     carries nothing from process to process and allocates nothing.
//   - What is traced crosses as the W3C Trace Context does: a traceparent in a
//     header of a call or of a message.
//   - Every span says what its own time went into, as a lab.SegmentKind.
//   - A batch that does the work of several traced messages at once makes its spans
//     for each of them (Join).
//
// The Provider is small because it is on while others are measured (docs/tracing.md
// has its cost beside that of OpenTelemetry's SDK). Whoever makes spans knows only
// the API, so any other provider can take its place.
//
// It draws no conclusions: package criticalpath does. Business code does not know
// it.
//
// Entry points: NewProvider; Enter, Serve, Begin and Over for those who make spans;
// Write and Read for the files.
package spans
