// Package unit is the unit's side of the control protocol: it reads commands and writes events
// (lab.Command and lab.Event), one JSON object per line. It reads what the deployer has set for
// the unit: addresses, peers, a folder. It also serves HTTP to clients, with limits of time and
// size. It knows no system and no deployer.
//
// Entry points: Main, Open, Channel.Serve, ServeFront, Address, PeerAddress, Dir, Slacken.
package unit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// ErrGone means that the conductor has closed the control channel or does not answer. The
// unit must then end without a report.
var ErrGone = errors.New("the conductor is gone")

// Channel is a unit's connection to the conductor. Events may be sent from
// several goroutines; commands are awaited by one.
type Channel struct {
	commands *json.Decoder
	mu       sync.Mutex
	events   *json.Encoder
}

// NewChannel reads commands from in and writes events to out.
func NewChannel(in io.Reader, out io.Writer) *Channel {
	return &Channel{commands: json.NewDecoder(bufio.NewReader(in)), events: json.NewEncoder(out)}
}

// Ready tells the conductor that all units of the system are connected and wait for start. Only the unit that
// leads the trial may send it.
func (c *Channel) Ready() error {
	return c.send(lab.Event{Event: lab.EventReady})
}

// Finished tells the conductor that all operations are done. elapsed is the time since the start command.
// Only the unit that leads the trial may send it.
func (c *Channel) Finished(elapsed time.Duration) error {
	return c.send(lab.Event{Event: lab.EventFinished, ElapsedSeconds: elapsed.Seconds()})
}

// Report sends the unit's report of its work. It is the unit's last event.
func (c *Channel) Report(report any) error { return c.Tell(lab.EventReport, report) }

// ReportWithProfile hands over the profile at a path from Profiled, if there is one, and then reports.
func (c *Channel) ReportWithProfile(path string, report any) error {
	if err := c.handOverProfile(path); err != nil {
		return err
	}
	return c.Report(report)
}

func (c *Channel) handOverProfile(path string) error {
	if path == "" {
		return nil
	}
	return c.HandOver(path)
}

// Tell sends an event with content, encoded as JSON, as its data. Deployers understand only the kinds that
// lab defines, and fail the trial if another unit than the lead sends an event about the trial.
func (c *Channel) Tell(kind lab.EventKind, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	return c.send(lab.Event{Event: kind, Data: data})
}

// pieceBytes is the largest part of a file in one event.
const pieceBytes = 48 << 10

// HandOver sends a file to the conductor. No other unit may use the same file name. Other
// files in a unit's folder are lost after the trial.
func (c *Channel) HandOver(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	piece := lab.FilePiece{File: filepath.Base(path)}
	buffer := make([]byte, pieceBytes)
	for first := true; ; first = false {
		n, err := io.ReadFull(file, buffer)
		isEmpty := first && errors.Is(err, io.EOF) // an empty file is one empty piece
		if n > 0 || isEmpty {
			piece.Data = buffer[:n]
			if err := c.Tell(lab.EventFile, piece); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("hand over: %w", err)
		}
	}
}

// Failed tells the conductor why the unit gives up.
func (c *Channel) Failed(cause error) error {
	return c.send(lab.Event{Event: lab.EventFailed, Error: cause.Error()})
}

// Await waits for the given command. Meanwhile it answers commands that ask for the clock or the usage of the
// unit. It returns an error for any other command, and ErrGone at the end of the channel, also within a
// command.
func (c *Channel) Await(kind lab.CommandKind) error {
	for {
		var command lab.Command
		if err := c.commands.Decode(&command); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
				errors.Is(err, syscall.ETIMEDOUT) {
				return ErrGone
			}
			return fmt.Errorf("read command %q: %w", kind, err)
		}
		switch command.Command {
		case kind:
			return nil
		case lab.CommandClock:
			now := lab.ClockAnswer{KernelRun: kernelRun(), Nanoseconds: time.Now().UnixNano()}
			if err := c.Tell(lab.EventClock, now); err != nil {
				return err
			}
		case lab.CommandUsage:
			if err := c.sendUsage(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("got command %q, want %q", command.Command, kind)
		}
	}
}

// kernelRun returns the boot ID of the kernel. It returns "" if it cannot be read: the conductor then assumes
// that the clock is that of another host.
func kernelRun() string {
	run, err := os.ReadFile(lab.KernelRun)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(run))
}

func (c *Channel) send(event lab.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.events.Encode(event); err != nil {
		return fmt.Errorf("send event %q: %w", event.Event, err)
	}
	return nil
}

// Address returns the host:port at which this unit must listen.
func Address() (string, error) {
	return variable("CLEAVE_ADDRESS")
}

// PeerAddress returns the host:port of another unit of the layout, or of all its replicas, with
// lab.AddressSeparator between them.
func PeerAddress(unit string) (string, error) {
	return variable(lab.PeerVariable(unit))
}

// Name returns the name of this unit in the layout. Each replica has its own.
func Name() (string, error) {
	return variable("CLEAVE_UNIT")
}

// Dir returns the folder that the deployer has created for this unit.
func Dir() (string, error) {
	return variable("CLEAVE_DIR")
}

// variable returns the value of an environment variable. It returns an error if the value is missing or
// empty.
func variable(name string) (string, error) {
	value := os.Getenv(name)
	if value == "" {
		return "", fmt.Errorf("%s is not set: this program is started by cleave, not by hand", name)
	}
	return value, nil
}

// sharedMemoryDescriptor is the file descriptor with which a unit inherits the memory
// of lab.Layout.SharedMemory.
const sharedMemoryDescriptor = 3

// SharedMemory maps the first size bytes of the memory that all units of the layout share: of the file that
// the deployer names, or else of an inherited descriptor. The mapping lasts until the process ends.
func SharedMemory(size int64) ([]byte, error) {
	descriptor := sharedMemoryDescriptor
	if path := os.Getenv(lab.MemoryVariable); path != "" {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("open the shared memory: %w", err)
		}
		defer func() { _ = file.Close() }() // the mapping stays
		descriptor = int(file.Fd())
	}
	const access = syscall.PROT_READ | syscall.PROT_WRITE
	memory, err := syscall.Mmap(descriptor, 0, int(size), access, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of shared memory: %w", size, err)
	}
	return memory, nil
}
