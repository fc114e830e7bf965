// Package predict says what a system would take if its components were placed otherwise: it makes programs of
// a model's calls, simulates the system as it is and with the change, and puts both side by side.
//
// A split adds hops, a merge removes them. What they cost the model says, or the caller of Predict.
// Before it answers it predicts what was measured: where that fails, the answer is withheld with the
// reason. It measures nothing; Answer.Limits lists what it does not model. What was rehearsed it turns into
// an answer by what was measured of the system as it is.
//
// Entry points: Change.Apply, Predict and Rehearsed; Answer.Write prints the answer.
package predict
