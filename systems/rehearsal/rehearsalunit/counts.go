package rehearsalunit

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/systems/rehearsal"
)

// counts holds counters in a memory-mapped file. The kernel keeps them when the unit is killed, so that a
// restarted unit goes on counting.
type counts struct {
	memory  []byte
	numbers []atomic.Int64
}

// The counters of each call: how often this unit has made it, begun to play it, and played it to its end.
// After the counters of all calls there is one more: see demanded.
const (
	made = iota
	served
	done
	perCall
)

// openCounts opens the counters of a folder, or creates them with the value 0.
func openCounts(dir string, calls int) (*counts, error) {
	file, err := os.OpenFile(filepath.Join(dir, "counts"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the counts: %w", err)
	}
	defer func() { _ = file.Close() }() // the mapping stays
	n := perCall*calls + 1
	size := n * int(unsafe.Sizeof(atomic.Int64{}))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("make room for the counts: %w", err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the counts: %w", err)
	}
	first := (*atomic.Int64)(unsafe.Pointer(&memory[0]))
	return &counts{memory, unsafe.Slice(first, n)}, nil
}

// add increments a counter of a call: made, served or done.
func (c *counts) add(call, counter int) { c.numbers[perCall*call+counter].Add(1) }

// demanded returns the counter of the CPU time that the model demanded, in nanoseconds.
func (c *counts) demanded() *atomic.Int64 { return &c.numbers[len(c.numbers)-1] }

// tallies returns the counters of all calls.
func (c *counts) tallies() []rehearsal.Tally {
	all := make([]rehearsal.Tally, len(c.numbers)/perCall)
	for i := range all {
		n := c.numbers[perCall*i:]
		all[i] = rehearsal.Tally{Made: n[made].Load(), Served: n[served].Load(), Done: n[done].Load()}
	}
	return all
}

// served returns the number of calls that began to be played in this unit.
func (c *counts) served() (all int64) {
	for _, t := range c.tallies() {
		all += t.Served
	}
	return all
}

// Close implements io.Closer.
func (c *counts) Close() error { return unix.Munmap(c.memory) }
