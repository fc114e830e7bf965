// Package search finds the capacity of a target: the highest open rate that
// meets an objective. It decides which rates to try and when to stop; playing a
// trial at a rate is a function that the caller passes.
//
// Entry points: Run, and BacklogGrows for the part of an objective that no
// percentile shows. The procedure is Theodolite's binary search (Henning and
// Hasselbring 2022) on the logarithm of the rate, with its assumption, that
// targets which hold a rate hold every lower one, checked instead of believed.
package search
