package shm

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
)

const (
	// maxYields is the number of consecutive yields of a worker with an empty inbox before it sleeps. A yield
	// after which a message is there costs less than half of a sleep with its wake-up; any other is wasted.
	maxYields = 2
	// gangMaxYields is the same number with the knob gang: then only neighbours are awake on the processor, and
	// each of them that runs is likely to send a message.
	gangMaxYields = 32
	// turnLength is the time that a neighbourhood has a processor for itself.
	turnLength = 20 * time.Millisecond
	// pausesPerClock is the number of pauses of a worker between two readings of the clock.
	pausesPerClock = 64
)

// gang reports whether the neighbourhoods on a processor take turns.
func gang(job big.UnitJob) bool { return job.Knobs[big.KnobGang] == "on" }

// rest lets a worker wait while its inbox is empty: it yields a few times and then sleeps until a message
// arrives. In a gang it does so during the turns of its neighbourhood, and sleeps at the neighbourhood's gate
// between them.
type rest struct {
	board  *board
	home   *neighbourhood
	gang   bool
	pauses int // so far; neighbours start with different numbers, so as not to read the clock together
}

// pause waits once: it yields or sleeps. fruitless is the number of pauses since the last message.
func (r *rest) pause(inbox *ring.Inbox, fruitless int) error {
	if !r.gang {
		return sleepOrYield(inbox, fruitless >= maxYields)
	}
	if r.home.gate.Load() == closed {
		return ring.WaitAlone(&r.home.gate, closed)
	}
	r.pauses++
	if r.pauses%pausesPerClock == 0 || fruitless >= gangMaxYields {
		if err := r.passOn(); err != nil {
			return err
		}
	}
	return sleepOrYield(inbox, fruitless >= gangMaxYields)
}

// sleepOrYield sleeps until a message is in the inbox, or yields the processor once.
func sleepOrYield(inbox *ring.Inbox, sleep bool) error {
	if sleep {
		return inbox.SleepAlone()
	}
	ring.Yield()
	return nil
}

// passOn gives the processor to the next neighbourhood that is not done, if the turn is over or this one is
// done. A neighbourhood that is done always passes on its turn: its last worker to finish comes here before
// it sleeps.
func (r *rest) passOn() error {
	now := big.Clock()
	if now < r.home.turnEnds.Load() && !r.board.done(r.home) {
		return nil
	}
	if !r.home.gate.CompareAndSwap(open, closed) {
		return nil // a neighbour was faster
	}
	return r.board.successor(r.home).begin(now) // perhaps this one again
}

// begin opens the gate of a neighbourhood for a turn.
func (n *neighbourhood) begin(now int64) error {
	n.turnEnds.Store(now + int64(turnLength))
	n.gate.CompareAndSwap(closed, open)
	return ring.Wake(&n.gate, ring.All)
}

// lift opens the gate of a neighbourhood for good.
func (n *neighbourhood) lift() error {
	n.gate.Store(lifted)
	return ring.Wake(&n.gate, ring.All)
}

// pinnedTo returns 1 + the processor that this process is pinned to, or 0 if it may run on several.
func pinnedTo() (uint32, error) {
	var processors unix.CPUSet
	if err := unix.SchedGetaffinity(0, &processors); err != nil {
		return 0, fmt.Errorf("ask on which processors to run: %w", err)
	}
	if processors.Count() != 1 {
		return 0, nil
	}
	for processor := 0; ; processor++ {
		if processors.IsSet(processor) {
			return uint32(processor) + 1, nil
		}
	}
}
