// Package predict predicts response times, CPU time and capacity of a system with another placement of its
// components: it turns the calls of a model into programs of package sim, simulates the system as it is and
// with the change, and compares both.
//
// A split adds hops, a merge removes them. Their cost is in the model, or the caller of Predict gives it.
// Before it answers, the package predicts what was measured: if that fails, it withholds the answer and says
// why. It measures nothing; Answer.Limits lists what it does not model.
//
// Entry points: Change.Apply, Predict and Rank; Rehearsed, which makes an answer from a rehearsal and from
// what was measured of the system as it is; Answer.Write prints an answer.
package predict
