// Package published holds what the built-in studies printed, figure by figure,
// so that a report can put a measured number beside each and say where a
// study's own arithmetic is wrong.
//
// Each study is one JSON file. A figure keeps the study's words (published_variant,
// published_metric, parameters, unit, value), what recomputing it from the
// study's own data gave (recomputed, status, note), and, under "ours", which
// quantity of which variant and point it is in our words. The quantities:
//
//	run             one run at a point
//	mean            arithmetic mean of the runs at a point
//	ratio_of_means  mean of variant over mean of against, at a point
//	mean_of_ratios  arithmetic mean of those ratios over several points
//	slope           of the least-squares line of the means along a factor
//	intercept       of that line
//	curve           a metric of a variant over all points, printed as an image
//	design          a setting of the study; nothing to measure
//	unmeasured      a measurement that Cleave does not take
//
// The package only reads its embedded files and computes nothing: the statuses come from
// a recomputation, which the package's tests repeat. The tests also check that the files are complete.
package published
