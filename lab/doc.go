// Package lab holds the terms of Cleave as types, and the interfaces between its parts.
//
// A study compares variants of a system at points of a parameter space. It is
// expanded into a plan of trials. The conductor plays the plan, and every trial
// leaves a record. The records are evaluated to an analysis, which judges claims.
// The package only imports the standard library. It reads no files and clocks,
// starts no processes and has no statistics. The only question that it asks the
// host is whether a program is in PATH.
//
// Units: seconds, bytes and plain counts, unless a name says otherwise. Shares
// are between 0 and 1. A field that this host could not measure is absent, and
// an Unavailable map beside it has the reason: missing values are never zeros.
package lab
