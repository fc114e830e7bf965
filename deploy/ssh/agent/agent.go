// Package agent is the program that runs on a host of package ssh while its conductor runs. Over the
// connection that started it, the agent receives programs, and on command starts, kills, pauses, meters and
// ends units. It ends units and removes programs when the connection ends, or when the conductor does not
// renew its lease.
//
// The agent decides nothing: the conductor knows which unit runs where, when it is ready, and whether its end
// is a failure. If the agent is killed, its sweeper cleans up (package leftovers).
//
// Entry points: Main, the main function of its program; Serve; the methods of Host, which are called through
// net/rpc.
package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Lease is the time after which an agent ends unless its conductor calls Renew.
const Lease = 30 * time.Second

// Host has the methods that a conductor calls. Those without an answer return an empty message.
type Host struct {
	meter    lab.Meter
	scratch  *leftovers.Scratch
	deployer *process.Deployer
	address  string        // see Address
	renewals chan struct{} // of the lease
	gone     chan struct{} // closed when the conductor is gone

	mu       sync.Mutex      // guards the fields below
	probe    net.Listener    // at address, until the first trial
	trial    *process.Remote // nil between two trials
	lives    map[int]*life   // of the trial, by their numbers
	started  int             // number of lives in all trials
	metering lab.Metering
}

// Serve serves the conductor at in and out until it is gone. program is the path of the agent's program;
// Serve moves it away and removes its folder.
func Serve(in io.ReadCloser, out io.Writer, program string, meter lab.Meter) (err error) {
	h := &Host{meter: meter, renewals: make(chan struct{}, 1), gone: make(chan struct{})}
	if err := h.setUp(program); err != nil {
		return errors.Join(err, removeProgram(program))
	}
	defer func() { err = errors.Join(err, h.leave()) }()
	if err := h.listen(); err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName(Service, h); err != nil {
		return err
	}
	if _, err := io.WriteString(out, Ready); err != nil {
		return err
	}
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	go server.ServeConn(&stream{ReadCloser: in, Writer: out, ended: end})
	for {
		select {
		case <-ended:
			return nil
		case <-h.renewals:
		case <-time.After(Lease):
			return fmt.Errorf("no sign of the conductor for %v", Lease)
		}
	}
}

// stream is a connection of two pipes. It calls ended when the input ends. The end of ServeConn comes too
// late for that: ServeConn waits for open calls first, and these wait for output of units.
type stream struct {
	io.ReadCloser
	io.Writer
	ended func()
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	if err != nil {
		s.ended()
	}
	return n, err
}

// setUp makes the private directory of the agent, moves its program there, and makes its deployer.
func (h *Host) setUp(program string) error {
	own, err := launch.Own()
	if err != nil {
		return err
	}
	if h.scratch, err = leftovers.Claim(leftovers.Root(), own.String(),
		[]string{program, sweeperCommand}); err != nil {
		return err
	}
	moved := filepath.Join(h.scratch.Dir, "agent")
	if err := errors.Join(os.Rename(program, moved), os.Remove(filepath.Dir(program))); err != nil {
		return errors.Join(err, h.scratch.Release())
	}
	h.deployer = process.New("", []string{moved, JanitorCommand}, []string{moved, KeeperCommand},
		own.String())
	return nil
}

// removeProgram removes the agent's program and the folder into which it was copied.
func removeProgram(program string) error {
	return errors.Join(os.Remove(program), os.Remove(filepath.Dir(program)))
}

// listen listens at the address at which the conductor has called this host, so that the conductor can check
// whether it will reach units here.
func (h *Host) listen() error {
	// SSH_CONNECTION holds address and port of the client, then those of the server.
	connection := strings.Fields(os.Getenv("SSH_CONNECTION"))
	if len(connection) != 4 {
		return errors.New("SSH_CONNECTION is not set: the agent is started by cleave through sshd, not by hand")
	}
	ports, err := launch.ReservePorts(1) // of the range of units' ports, which firewalls have to let pass
	if err != nil {
		return err
	}
	defer ports.Close()
	h.address = net.JoinHostPort(connection[2], fmt.Sprint(ports.Numbers[0]))
	h.probe, err = net.Listen("tcp", h.address)
	return err
}

// leave ends the trial, if there is one, and removes the private directory.
func (h *Host) leave() error {
	close(h.gone)
	h.mu.Lock() // a call of Open may be under way
	if h.probe != nil {
		_ = h.probe.Close() // nobody was accepted
	}
	h.mu.Unlock()
	return errors.Join(h.Stop(None{}, nil), h.scratch.Release())
}

// Renew renews the lease of the conductor.
func (h *Host) Renew(None, *None) error {
	select {
	case h.renewals <- struct{}{}:
	default: // another renewal is pending
	}
	return nil
}

// Address returns the address at which the conductor has called this host, with the port at which the agent
// listens until the first trial.
func (h *Host) Address(_ None, address *string) error {
	*address = h.address
	return nil
}

// Reaches fails if this host cannot connect to an address of another host.
func (h *Host) Reaches(address string, _ *None) error {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}

// Put stores a piece of a program. With the last piece it returns the program's path. The name of a program
// is its hash in hexadecimal. Other names are refused, so that no path outside of the private directory can
// be named.
func (h *Host) Put(piece Piece, at *string) error {
	if hash, err := hex.DecodeString(piece.Name); err != nil || len(hash) == 0 {
		return fmt.Errorf("%q is no name of a program", piece.Name)
	}
	path := filepath.Join(h.scratch.Dir, piece.Name)
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if piece.First {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o700)
	if err != nil {
		return err
	}
	_, err = file.Write(piece.Data)
	if piece.Last {
		*at = path
	}
	return errors.Join(err, file.Close())
}

// Check returns an error that says which parts of a layout this host cannot run.
func (h *Host) Check(layout lab.Layout, _ *None) error {
	return h.deployer.Preflight(context.Background(), layout)
}
