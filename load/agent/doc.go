// Package agent plays loads in processes of their own. The same process serves
// two masters, over the same lines: `cleave load` shares one load out among
// several agents, here or on other hosts, and experiments have one as the
// generator unit beside the system under test.
//
// An agent gets a Job, plain JSON, as an argument or as the first line of its
// standard input. From then on it speaks the control protocol (package unit):
// it says ready when its connections are open, begins with the command start,
// says finished when the load is over, and hands in its Report on the command
// stop. A stop that comes early breaks the load off. The end of its standard
// input means that nobody wants the load any more: it ends at once.
//
// Entry points: Serve is an agent; Group.Play leads several; ReadReport reads what
// one handed in. How a load is played is package trial's.
package agent
