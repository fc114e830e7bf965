// Package model holds a system as it was measured: its components, the tree of calls of each operation, and
// what each call takes in CPU time, waiting and visits to stores. A model is a YAML file that people read and
// edit. docs/modelling.md explains every key.
//
// The package measures and predicts nothing.
//
// Entry points: Parse reads a file, Model.Write writes one, Make makes one of spans and of what
// was metered. OfTrial reads what a trial has measured.
package model
