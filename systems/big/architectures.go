package big

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// The architectures.
const (
	Threads       = "threads"
	ThreadsFast   = "threads-fast"
	HTTP          = "http"
	HTTPLean      = "http-lean"
	UDS           = "uds"
	UDSPersistent = "uds-persistent"
	GRPC          = "grpc"
	SHM           = "shm"
)

// The knobs, and values that several of them have.
const (
	knobSelf      = "self"
	knobPinned    = "pinned"
	KnobKeepAlive = "keepalive" // on, off
	KnobEncoding  = "encoding"  // json, binary
	KnobGang      = "gang"      // on, off
	on            = "on"
	off           = "off"
)

// family is an architecture with its properties for Layout.
type family struct {
	lab.Architecture
	oneUnit bool // all workers in one process
	listens bool // core and workers need a TCP address
	sockets bool // core and workers have Unix sockets
	// peerConnections is the number of descriptors that a worker has open per neighbour.
	peerConnections int
	sharedMemory    bool     // all processes share memory
	workerEnv       []string // environment of workers
	// packages lists the packages of the architecture alone, for the count of its code.
	packages []string
}

// families lists the architectures: those of the study in its order, each with its faster version behind it,
// and then the others.
func families() []family {
	const own = "systems/big/"
	return []family{
		{Architecture: architecture(Threads, "a goroutine per worker, channels (the study's multithreading)"),
			oneUnit: true, packages: []string{own + "threads"}},
		{Architecture: architecture(ThreadsFast, "mailboxes and a stealing run queue per core"), oneUnit: true,
			packages: []string{own + "threadsfast"}},
		{
			Architecture: architecture(HTTP, "a process per worker, net/http and JSON (the study's first approach)",
				knob(KnobKeepAlive, "keep connections between pings", on, off)),
			listens: true, peerConnections: 4,
			packages: []string{own + "httpservice", own + "rendezvous"},
		},
		{
			Architecture: architecture(HTTPLean, "the same endpoints and messages on a single-threaded event loop",
				pinKnob()),
			listens: true, peerConnections: 2, workerEnv: singleThreaded(),
			packages: []string{own + "httplean", own + "httpservice", own + "rendezvous", "binding/eventloop",
				"binding/leanhttp"},
		},
		{
			Architecture: architecture(UDS,
				"a process per worker, a Unix-socket connection per JSON message (the study's second approach)"),
			sockets: true, workerEnv: []string{"GOMAXPROCS=1"},
			packages: []string{own + "udsservice", own + "rendezvous"},
		},
		{
			Architecture: architecture(UDSPersistent, "Unix-socket connections kept, on a single-threaded event loop",
				knob(KnobEncoding, "how messages are written", "binary", "json"), pinKnob()),
			sockets: true, peerConnections: 2, workerEnv: singleThreaded(),
			packages: []string{own + "udspersistent", own + "udsservice", own + "rendezvous", "binding/eventloop"},
		},
		{
			Architecture: architecture(GRPC, "a process per worker, unary gRPC over TCP"),
			listens:      true, peerConnections: 4,
			packages: []string{own + "grpcservice", own + "rendezvous"},
		},
		{
			Architecture: architecture(SHM, "a process per worker, rings in shared memory with futex",
				knob(KnobGang, "one active neighbourhood per core at a time", off, on), pinKnob()),
			sharedMemory: true, workerEnv: singleThreaded(),
			packages: []string{own + "shm", "binding/ring"},
		},
	}
}

// singleThreaded returns the environment of workers that run one loop on one thread: without garbage
// collection, since they allocate nothing per ping, and without the signals that preempt goroutines.
func singleThreaded() []string {
	return []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1"}
}

// architecture returns an architecture with these knobs and the knob self, which all have.
func architecture(name, summary string, knobs ...lab.Knob) lab.Architecture {
	self := knob(knobSelf, "a worker may ping itself", off, on)
	return lab.Architecture{Name: name, Summary: summary, Knobs: append(knobs, self)}
}

// knob returns a knob. The first value is the default.
func knob(name, summary string, values ...string) lab.Knob {
	return lab.Knob{Name: name, Summary: summary, Values: values}
}

// pinKnob returns the knob that pins the workers of a neighbourhood to one core.
func pinKnob() lab.Knob {
	return knob(knobPinned, "a neighbourhood's workers share one core, so that wake-ups stay local", on, off)
}

// familyNamed returns the family with a name, or an error that lists all names.
func familyNamed(name string) (family, error) {
	var known []string
	for _, f := range families() {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	return family{}, fmt.Errorf("big has no architecture %q (it has %s)", name, strings.Join(known, ", "))
}

// sharedMemory returns an upper bound of the shared memory of a job, in bytes: a header page and an inbox per
// worker, with room for two messages per neighbour. Package shm has the exact layout, and a test for this
// bound.
func sharedMemory(job Job) int64 {
	const page, message = 4096, 16
	slots := int64(1)
	for slots < int64(2*job.Workers) {
		slots *= 2
	}
	return page + int64(job.Total())*(page+slots*message)
}
