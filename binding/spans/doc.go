// Package spans records where the time of an operation goes, across processes:
// bindings, database clients and entries start spans with the OpenTelemetry API, and
// a Provider keeps them until they are written to a file.
//
//   - Few operations are traced: the entry decides by the trace id (head sampling), and
//     all processes after it follow. An untraced operation adds no header to calls and
//     allocates nothing.
//   - The context of a trace travels as W3C Trace Context: in the traceparent header of
//     a call or of a message.
//   - Every span has a lab.SegmentKind that says what its own time was spent on.
//   - A batch that does the work of several traced messages at once records its spans
//     for each of them (Batch.Join).
//
// The Provider is small because it runs during measurements (docs/tracing.md compares
// its cost with that of OpenTelemetry's SDK). Code that starts spans uses only the API,
// so any other provider can replace it.
//
// Package criticalpath analyses the spans. Business code does not import this package.
//
// Entry points: NewProvider; Enter, Serve and Begin start spans, RecordUntilNow records one that
// ends; Write and Read are for files.
package spans
