// Package jfr reads recordings of the JDK Flight Recorder, as far as profiles need them: the code that
// was running when a thread was sampled. It reads version 2 of the format, of JDK 9 and later, which
// describes its own events.
//
// Source: the format has no specification. This reader follows the JDK's own reader
// (jdk.jfr.internal.consumer, JDK 17), and is tested with recordings of JDK 17 and 25.
//
// Entry point: Read.
package jfr

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Types of events that are samples.
const (
	// Execution samples are taken of threads that run Java code, in turn.
	Execution = "jdk.ExecutionSample"
	// CPUTime samples are taken of all threads, in proportion to their CPU time (JDK 25).
	CPUTime = "jdk.CPUTimeSample"
)

// Sample is one sample of a thread.
type Sample struct {
	Event string
	Time  time.Time
	// Class is the class of the running method, such as "java.util.HashMap"; "" if the JVM could not walk the
	// stack.
	Class  string
	Native bool // the running method is native
}

// chunk is an independent part of a recording.
type chunk struct {
	classes map[int64]*class
	// pools holds the constants, by the name of their class.
	pools map[string]map[int64]value

	// startNanos is the wall clock and startTicks the clock of events at the start of the chunk.
	startNanos, startTicks, ticksPerSecond int64
	// left is the number of objects that may still be read. It bounds the memory for nested objects, which take
	// no bytes if their classes have no fields.
	left int
}

// Positions and sizes in the header of a chunk.
const (
	headerSize    = 68
	offsetSize    = 8
	offsetPool    = 16
	offsetMeta    = 24
	offsetNanos   = 32
	offsetTicks   = 48
	offsetPace    = 56 // ticks per second
	offsetOptions = 67
	compressed    = 1 // bit of the options: integers are compressed
)

// Read reads all samples of a recording.
func Read(data []byte) ([]Sample, error) {
	var all []Sample
	if len(data) == 0 {
		return nil, errors.New("the recording is empty")
	}
	for n := 1; len(data) > 0; n++ {
		if len(data) < headerSize || string(data[:4]) != "FLR\x00" {
			return all, fmt.Errorf("chunk %d: this is no recording of the JDK Flight Recorder", n)
		}
		size := long(data[offsetSize:])
		if size < headerSize || size > int64(len(data)) {
			return all, fmt.Errorf("chunk %d of %d bytes: %w", n, size, errShort)
		}
		samples, err := readChunk(data[:size])
		all = append(all, samples...)
		if err != nil {
			return all, fmt.Errorf("chunk %d: %w", n, err)
		}
		data = data[size:]
	}
	return all, nil
}

// readChunk reads the samples of a chunk.
func readChunk(data []byte) ([]Sample, error) {
	if version := int(data[4])<<8 | int(data[5]); version != 2 {
		return nil, fmt.Errorf("its format has version %d, and 2 is read here", version)
	}
	if data[offsetOptions]&compressed == 0 {
		return nil,
			errors.New("its integers are not compressed, which is not read here: record with compressed integers")
	}
	c := &chunk{pools: map[string]map[int64]value{},
		left:       len(data), // generous: the objects of real recordings have fields, which take bytes
		startNanos: long(data[offsetNanos:]), startTicks: long(data[offsetTicks:]),
		ticksPerSecond: long(data[offsetPace:])}
	if c.ticksPerSecond <= 0 {
		return nil, fmt.Errorf("its clock has %d ticks in a second, expected more than 0", c.ticksPerSecond)
	}
	b, kind, err := eventAt(data, long(data[offsetMeta:]))
	if err == nil && kind != 0 {
		err = fmt.Errorf("its metadata event has type %d, expected 0", kind)
	}
	if err != nil {
		return nil, err
	}
	if c.classes = readClasses(b); b.err != nil {
		return nil, fmt.Errorf("metadata: %w", b.err)
	}
	if err := c.readPools(data, long(data[offsetPool:])); err != nil {
		return nil, fmt.Errorf("constants: %w", err)
	}
	return c.samples(data)
}

// eventAt returns a decoder for an event, after its size and type, and the type.
func eventAt(data []byte, at int64) (*decoder, int64, error) {
	if at < headerSize || at >= int64(len(data)) {
		return nil, 0, fmt.Errorf("an event is said to be at byte %d of %d", at, len(data))
	}
	b := &decoder{data: data[at:]}
	size := b.number()
	if size < int64(b.at) || size > int64(len(b.data)) || b.err != nil {
		return nil, 0, fmt.Errorf("the event at byte %d: %w", at, errShort)
	}
	b.data = b.data[:size]
	kind := b.number()
	return b, kind, b.err
}

// readPools reads the constants, from a chain of events that begins with the last one. Each event has the
// distance to the one before it, which is negative; 0 ends the chain.
func (c *chunk) readPools(data []byte, at int64) error {
	const poolEvent = 1
	for before := at + 1; ; {
		if at >= before {
			return errors.New("their chain does not end")
		}
		before = at
		b, kind, err := eventAt(data, at)
		if err != nil {
			return err
		}
		if kind != poolEvent {
			return fmt.Errorf("the event at byte %d is of type %d", at, kind)
		}
		b.number() // start
		b.number() // duration
		delta := b.number()
		b.take(1) // the reason why it was written
		for range b.count() {
			c.readPool(b)
		}
		if b.err != nil {
			return b.err
		}
		if delta == 0 {
			return nil
		}
		at += delta
	}
}

// readPool reads the constants of one class.
func (c *chunk) readPool(b *decoder) {
	id := b.number()
	of, known := c.classes[id]
	if !known {
		b.fail(fmt.Errorf("they are of the class %d, which the recording does not describe", id))
		return
	}
	pool := c.pools[of.name]
	if pool == nil {
		pool = map[int64]value{}
		c.pools[of.name] = pool
	}
	for range b.count() {
		key := b.number()
		v := c.read(b, of, 0)
		if b.err != nil {
			return
		}
		pool[key] = v
	}
}

// samples reads the events of a chunk.
func (c *chunk) samples(data []byte) ([]Sample, error) {
	var all []Sample
	for at := int64(headerSize); at < int64(len(data)); {
		b, kind, err := eventAt(data, at)
		if err != nil {
			return all, err
		}
		at += int64(len(b.data))
		of, known := c.classes[kind]
		if !known {
			continue
		}
		if of.name != Execution && of.name != CPUTime {
			continue
		}
		v := c.read(b, of, 0)
		if b.err != nil {
			return all, fmt.Errorf("%s: %w", of.name, b.err)
		}
		seconds := float64(v.part("startTime").number-c.startTicks) / float64(c.ticksPerSecond)
		class, native := c.running(v.part("stackTrace").number)
		sinceStart := time.Duration(seconds * float64(time.Second))
		all = append(all, Sample{Event: of.name, Class: class, Native: native,
			Time: time.Unix(0, c.startNanos).Add(sinceStart)})
	}
	return all, nil
}

// running returns the class of the method that runs on a stack, by the key of the stack, and whether the
// method is native.
func (c *chunk) running(key int64) (class string, native bool) {
	frame := c.pools["jdk.types.StackTrace"][key].part("frames")
	method := c.pools["jdk.types.Method"][frame.part("method").number]
	of := c.pools["java.lang.Class"][method.part("type").number]
	kind := c.pools["jdk.types.FrameType"][frame.part("type").number]
	class = strings.ReplaceAll(c.symbol(of.part("name").number), "/", ".")
	return class, kind.part("description").text == "Native"
}

// symbol returns the text of a symbol. The symbol may hold the key of a text instead.
func (c *chunk) symbol(key int64) string {
	text := c.pools["jdk.types.Symbol"][key].part("string")
	if text.text == "" && text.number != 0 {
		return c.pools["java.lang.String"][text.number].text
	}
	return text.text
}
