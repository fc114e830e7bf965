// Package sim simulates systems of units, pools and processors event by event. It returns the times of
// operations, the parts of them that were spent waiting, and the utilisation of processors and pools.
//
// A System is a list of small programs. Their steps use a processor, wait, take and return a place in a pool,
// and call other programs: one after the other, at the same time, or without waiting for them. Processors are
// shared evenly by all who use them (processor sharing); a pool serves in the order of arrival, so a pool of
// one with a wait inside is a FIFO server. Load is open (Poisson arrivals) or closed (users who think).
//
// The cost of an event grows with the logarithm of what is in progress, and memory with what is in progress
// alone: response times go into histograms with a resolution of 0.8 %. The same seed gives the same result.
//
// It does not know what programs stand for, what a call between units costs, nor whether a result can be
// trusted: package predict does. Entry point: Run.
//
// Methods: processor sharing by virtual time, Kleinrock 1967 (doi:10.1145/321386.321388) and Parekh and
// Gallager 1993 (doi:10.1109/90.234856); batch means, Law and Kelton, Simulation Modeling and Analysis,
// section 9.5.3.
package sim
