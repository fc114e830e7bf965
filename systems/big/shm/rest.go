package shm

import (
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/systems/big"
	"golang.org/x/sys/unix"
)

const (
	// maxYields is how often in a row a worker with an empty inbox lets others go
	// first before it sleeps. A fruitful yield costs less than half of a sleep
	// with its wake-up, a fruitless one is wasted.
	maxYields = 2
	// gangMaxYields is the same while only neighbours are awake on the processor:
	// every one of them that runs is likely to send something.
	gangMaxYields = 32
	// turnLength is how long a neighbourhood has a processor for itself.
	turnLength = 20 * time.Millisecond
	// pausesPerClock is the number of pauses that a worker takes per look at the clock.
	pausesPerClock = 64
)

// gang reports whether neighbourhoods take turns on their processor.
func gang(job big.UnitJob) bool { return job.Knob(big.KnobGang) == "on" }

// rest waits while a worker's inbox is empty: yield a few times, then
// sleep until a message arrives. In a gang it does so while its neighbourhood
// has its turn, and waits at the neighbourhood's gate while another one has.
type rest struct {
	board  *board
	home   *district
	gang   bool
	pauses int // so far; neighbours begin with different numbers
}

// pause returns when it is worth to look into the inbox again. fruitless is how
// many pauses in a row have brought nothing.
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

func sleepOrYield(inbox *ring.Inbox, sleep bool) error {
	if sleep {
		return inbox.SleepAlone()
	}
	ring.Yield()
	return nil
}

// passOn gives the processor to the next neighbourhood that is not done, when
// the turn is over or this one is done. No turn is lost: the worker that is the
// last to finish comes here at the latest before it sleeps.
func (r *rest) passOn() error {
	now := big.Clock()
	if now < r.home.turnEnds.Load() && !r.board.done(r.home) {
		return nil
	}
	if !r.home.gate.CompareAndSwap(open, closed) {
		return nil // a neighbour was faster
	}
	heir := r.board.heir(r.home) // perhaps this one again
	return heir.begin(now)
}

// begin opens the gate of a neighbourhood for a turn.
func (d *district) begin(now int64) error {
	d.turnEnds.Store(now + int64(turnLength))
	d.gate.CompareAndSwap(closed, open)
	return ring.Wake(&d.gate, ring.All)
}

// lift removes the gate of a neighbourhood for good.
func (d *district) lift() error {
	d.gate.Store(lifted)
	return ring.Wake(&d.gate, ring.All)
}

// pinnedTo returns 1 + the only processor this process may run on, or 0 when it
// may run on several.
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
