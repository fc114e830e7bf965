// Package lab holds the nouns of Cleave and the interfaces between its rooms.
//
// A study compares variants of a system at points of a parameter space. It is
// expanded into a plan of trials; the conductor plays the plan; every trial
// leaves a record; records become an analysis; the analysis judges claims.
// Those words are the types of this package. It imports the standard library
// only: it reads no files and clocks, starts no processes and knows no
// statistics. All that it asks of the host is whether a program is in PATH.
//
// Units: seconds, bytes and plain counts, unless a name says otherwise. Shares
// are between 0 and 1. A field that this host could not measure is absent, and
// an Unavailable map beside it has the reason: missing values are never zeros.
package lab
