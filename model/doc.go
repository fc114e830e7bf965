// Package model holds a measured system: its components, the tree of calls of each operation, and the CPU
// time, waiting and visits to stores of each call. A model is a YAML file that people read and edit.
// docs/modelling.md explains every key.
//
// The package measures and predicts nothing.
//
// Entry points: Parse reads a file, Model.Write writes one, Make makes a model from spans and metered CPU
// times. OfTrial returns the measurement of a trial.
package model
