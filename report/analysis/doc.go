// Package analysis concludes from the trials of an experiment: it turns a plan
// and its records into the document that every view shows. It computes results,
// comparisons by block, bias, averages, trends, the ladder, verdicts
// on claims, published figures beside measured ones, and the sentences of the
// answer. The statistics themselves are package stats; nothing here reads a
// file, draws or prints.
//
// The entry point is Analyse. It takes what there is: with missing trials,
// points or blocks the document says so in place of numbers. It never contains
// a number that is not finite.
package analysis
