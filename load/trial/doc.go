// Package trial plays one load on one target and sums it up: it joins schedule,
// engine and record, asks consent, checks that the generator was not the limit,
// and leaves a record.Summary. Search plays many and finds the capacity.
//
// Entry points: Spec.Prepare, Trial.Play and Search.
package trial
