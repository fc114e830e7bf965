// Package objective parses objectives such as "p99<50ms,errors<0.1%" and compares the summary of a load
// with them. They consist of comparisons only; no code or expression is evaluated.
//
// Entry points: Parse, Objective.WithDefaults, Objective.Judge. Parse names
// every mistake with its column.
package objective
