package sampler

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the memory into which the kernel writes the samples of a processor.
type ring struct {
	fd     int
	memory []byte                  // the whole mapping
	about  *unix.PerfEventMmapPage // its first page: where data is, and how far it was written and read
	data   []byte                  // the records
}

// newRing returns the ring of an event whose descriptor is mapped to memory.
func newRing(fd int, memory []byte) *ring {
	about := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))
	return &ring{fd: fd, memory: memory, about: about, data: memory[about.Data_offset:][:about.Data_size]}
}

// sample holds the stack that a processor was running at one tick of the clock.
type sample struct {
	pid    int
	kernel bool     // the process was in the kernel
	frames []uint64 // addresses in the program, the running one first
}

const (
	headerSize = 8
	// firstContext is PERF_CONTEXT_MAX: from it on, numbers in a stack are marks that say to whom the
	// addresses after them belong.
	firstContext = ^uint64(4095 - 1)
	contextUser  = ^uint64(512 - 1) // PERF_CONTEXT_USER
	// mostFrames is the longest stack that is read; the kernel's own limit is 127.
	mostFrames = 1024
)

// each calls take with every sample in the ring and frees the space. A record consists of a header, two
// 32-bit numbers (PERF_SAMPLE_TID), and the number of addresses with the addresses
// (PERF_SAMPLE_CALLCHAIN); see perf_event_open(2).
func (r *ring) each(take func(sample)) {
	head := atomic.LoadUint64(&r.about.Data_head)
	tail := r.about.Data_tail
	for tail < head {
		header := r.bytes(tail, headerSize)
		kind := binary.LittleEndian.Uint32(header)
		size := uint64(binary.LittleEndian.Uint16(header[6:]))
		if size < headerSize {
			break // the kernel writes no such record
		}
		if found, is := parse(kind, r.bytes(tail+headerSize, size-headerSize)); is {
			take(found)
		}
		tail += size
	}
	atomic.StoreUint64(&r.about.Data_tail, head)
}

// bytes returns a copy of a part of the ring, which may continue at the beginning of the ring.
func (r *ring) bytes(from, size uint64) []byte {
	length := uint64(len(r.data))
	all := make([]byte, 0, size)
	for size > 0 {
		at := from % length
		n := min(size, length-at)
		all = append(all, r.data[at:at+n]...)
		from, size = from+n, size-n
	}
	return all
}

// parse reads the body of a record. It returns false for records that are not samples, such as the count
// of lost samples.
func parse(kind uint32, body []byte) (sample, bool) {
	if kind != unix.PERF_RECORD_SAMPLE || len(body) < 16 {
		return sample{}, false
	}
	s := sample{pid: int(int32(binary.LittleEndian.Uint32(body)))}
	count := binary.LittleEndian.Uint64(body[8:])
	body = body[16:]
	if count > mostFrames || count > uint64(len(body)/8) {
		return sample{}, false
	}
	user := false
	for i := range count {
		address := binary.LittleEndian.Uint64(body[8*i:])
		switch {
		case address >= firstContext:
			user = address == contextUser
			s.kernel = s.kernel || !user
		case user:
			s.frames = append(s.frames, address)
		}
	}
	return s, true
}
