// Package agent plays loads in processes of their own, in two uses with the same
// protocol: `cleave load` divides one load among several agents, here or on other
// hosts, and an experiment has one agent as the generator unit beside the system
// under test.
//
// An agent gets a Job, plain JSON, as an argument or as the first line of its standard input. From then
// on it speaks the control protocol (package unit): it sends ready when its connections are open, begins
// at the command start, sends finished when the load is over, and sends its Report at the command stop.
// A stop during the load ends it early. The end of its standard input means that its leader is gone: the
// agent exits at once.
//
// Entry points: Serve is an agent; Group.Play leads several; ReadReport reads the
// report of one. Package trial plays the load.
package agent
