// Package trial plays one load on one target and sums it up: it parses the load (its rate, steps, users or
// recorded times), asks for consent, chooses the engine (load/engine for plain HTTP/1.1, possibly with
// several loops; load/stream for everything else), collects the recorded results, checks that the generator
// was not the limit, and returns a record.Summary. A search plays many trials and finds the capacity.
//
// A Spec is plain data, so that agents (load/agent) can play parts of it; Join
// adds up what they did.
//
// Entry points: Spec.Prepare, Trial.Play, Trial.Search; Request.Scenario makes a
// scenario of one URL.
package trial
