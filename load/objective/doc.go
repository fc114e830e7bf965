// Package objective reads objectives such as "p99<50ms,errors<0.1%" and judges
// a summary of a load by them. They are comparisons and nothing more: no
// expressions, no evaluation of code.
//
// Entry points: Parse, Objective.WithDefaults, Objective.Judge. Parse names
// every mistake with its column.
package objective
