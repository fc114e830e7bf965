// Package search finds the capacity of a target: the highest open rate that meets an objective. It
// decides which rates to try and when to stop; the caller passes a function that plays a trial at a rate.
//
// Entry points: Run, and BacklogGrows for the part of an objective that percentiles do not show. The
// procedure is Theodolite's binary search (Henning and Hasselbring 2022) on the logarithm of the rate.
// Its assumption, that a target that holds a rate holds every lower one, is checked.
package search
