// Package stats turns numbers into estimates with intervals, and estimates
// into verdicts. It neither reads nor writes anything, and drops no value without
// saying so: input that a method cannot take is refused with an error.
//
// The unit of replication is the trial; trials are compared by block. The default comparison of two
// variants is Table.Ratio: the mean of the log ratios of the blocks, with a Student t interval from
// the noise of all variants of the table; PairedRatio uses the two alone. Looks returns the level of
// the interval for each interim analysis after a block. LogWelch is for unblocked data, ZerosByChance
// for samples of zeros, which have no ratio, and KaliberaJones for questions about totals. Judge turns
// a ratio, a margin and a bias into slower, faster, equivalent or undecided. Holm adjusts several
// comparisons, Combine says whether one ratio may stand for several points, FitLine and FitPowerLaw
// describe how a cost grows along a factor, and FitScalability how a throughput does. Follow says
// whether trials were steady, WarmedUp whether a warm-up is, and Changes where a series of runs
// changes its level.
//
// Confidence levels are between 0 and 1 (0.95). Every other unit is that of
// the numbers given.
package stats
