// Package sampler samples programs from outside: the kernel's software clock interrupts every processor a
// thousand times a second and records the running stack (perf_event_open(2) with
// PERF_COUNT_SW_CPU_CLOCK). Programs need no preparation, and virtual machines without hardware counters
// have that clock, too. It names the functions of Go programs, which keep frame pointers and a table of
// all functions even if they are stripped.
//
// Entry points: Start, then Sampling.End.
package sampler

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// frequency is the number of samples per second of a busy processor: a prime, so that samples are not
	// synchronous with periodic work.
	frequency = 997
	// pages is the size of a processor's ring, in pages of memory: enough for the samples of some tenths of a
	// second. The kernel demands a power of two.
	pages = 128
	// drainEvery is the time between two readings of the rings.
	drainEvery = 50 * time.Millisecond
)

// Sampling samples all processors until End.
type Sampling struct {
	rings []*ring
	stop  chan struct{}
	done  sync.WaitGroup
	seen  map[int]map[string]*stack // by process, and by the text of the stack
}

// stack is a stack with the number of its samples.
type stack struct {
	sample
	count int
}

// Start begins to sample all processors. Its error names a missing privilege.
func Start() (*Sampling, error) {
	processors, err := online()
	if err != nil {
		return nil, err
	}
	s := &Sampling{stop: make(chan struct{}), seen: map[int]map[string]*stack{}}
	for _, processor := range processors {
		r, err := open(processor)
		if err != nil {
			s.close()
			return nil, err
		}
		s.rings = append(s.rings, r)
	}
	s.done.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			case <-time.After(drainEvery):
				s.drain()
			}
		}
	})
	return s, nil
}

// online returns the numbers of the processors that are online.
func online() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("find the processors to sample: %w", err)
	}
	var all []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		if err := errors.Join(errFrom, errTo); err != nil {
			return nil, fmt.Errorf("the processors %q cannot be read: %w", text, err)
		}
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// open begins to sample a processor.
func open(processor int) (*ring, error) {
	attributes := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: frequency,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CALLCHAIN, Bits: unix.PerfBitFreq,
	}
	attributes.Size = uint32(unsafe.Sizeof(attributes))
	fd, err := unix.PerfEventOpen(&attributes, -1, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w: it needs root, or CAP_PERFMON", err)
	}
	if err != nil {
		return nil, fmt.Errorf("sample processor %d by the kernel's clock: %w", processor, err)
	}
	memory, err := unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the samples of processor %d: %w", processor, err), unix.Close(fd))
	}
	return newRing(fd, memory), nil
}

// drain counts the samples that the rings hold.
func (s *Sampling) drain() {
	for _, r := range s.rings {
		r.each(s.take)
	}
}

// take counts one sample of a process.
func (s *Sampling) take(found sample) {
	if found.pid <= 0 { // the processor was idle
		return
	}
	stacks := s.seen[found.pid]
	if stacks == nil {
		stacks = map[string]*stack{}
		s.seen[found.pid] = stacks
	}
	key := fmt.Sprint(found.kernel, found.frames)
	if stacks[key] == nil {
		stacks[key] = &stack{sample: found}
	}
	stacks[key].count++
}

// End ends the sampling. It returns the samples of the processes with these threads, as far as they still run
// and are Go programs.
func (s *Sampling) End(threads []lab.ThreadUse) []lab.ProgramSamples {
	close(s.stop)
	s.done.Wait()
	s.drain()
	s.close()
	var all []lab.ProgramSamples
	named := map[int]bool{}
	for _, t := range threads {
		if named[t.PID] || len(s.seen[t.PID]) == 0 {
			continue
		}
		named[t.PID] = true
		program, err := openProgram(t.PID)
		if err != nil {
			continue // it is in another language, or has ended
		}
		one := lab.ProgramSamples{Unit: t.Unit, Role: t.Role, Own: program.module}
		for _, other := range threads {
			if other.PID == t.PID {
				one.Threads = append(one.Threads, other.ID)
			}
		}
		for _, stack := range s.seen[t.PID] {
			one.Stacks = append(one.Stacks, lab.SampledStack{Kernel: stack.kernel,
				Functions: program.names(stack.frames), Count: stack.count})
		}
		all = append(all, one)
	}
	return all
}

func (s *Sampling) close() {
	for _, r := range s.rings {
		_ = unix.Munmap(r.memory) // its content is no longer needed
		_ = unix.Close(r.fd)
	}
	s.rings = nil
}
