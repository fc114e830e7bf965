// Package agent is what runs on a host of package ssh for as long as its conductor does:
// it keeps the programs that it was sent, starts, hurts, meters and ends units as it is
// told over the connection that started it, and removes all of that when the connection
// ends or is silent for the length of a lease.
//
// It chooses nothing: what runs where, when a unit is ready and whether its end is a
// failure, the conductor knows. What stays after a kill -9 of the agent, its sweeper
// removes (package leftovers).
//
// Entry points: Serve, which is the main function of its process; its methods are called
// through net/rpc.
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

// Lease is how long an agent goes on without a sign of its conductor.
const Lease = 30 * time.Second

// Host has the methods that a conductor calls.
type Host struct {
	meter    lab.Meter
	scratch  *leftovers.Scratch
	deployer *process.Deployer
	about    About
	probe    net.Listener // until the first trial
	signs    chan struct{}
	gone     chan struct{} // closed when nobody hears units any more

	mu       sync.Mutex
	programs map[string]bool // that are here
	trial    *process.Remote // nil between two
	lives    []*life
	metering lab.Metering
}

// Serve serves the conductor that speaks over in and out until it is gone. program is the
// file of the agent's program, in a folder of its own, which Serve takes away.
func Serve(in io.ReadCloser, out io.Writer, program string, meter lab.Meter) (err error) {
	h := &Host{meter: meter, signs: make(chan struct{}, 1), gone: make(chan struct{}),
		programs: map[string]bool{}}
	if err := h.settle(program); err != nil {
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
	hung := make(chan struct{})
	go server.ServeConn(&stream{ReadCloser: in, Writer: out, hung: sync.OnceFunc(func() { close(hung) })})
	for {
		select {
		case <-hung:
			return nil
		case <-h.signs:
		case <-time.After(Lease):
			return fmt.Errorf("no sign of the conductor for %v", Lease)
		}
	}
}

// stream is a connection of two pipes. The server of calls waits at its end for those that it
// still has, which wait for units; hung tells it before.
type stream struct {
	io.ReadCloser
	io.Writer
	hung func()
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	if err != nil {
		s.hung()
	}
	return n, err
}

// settle makes the private directory of the agent and puts its program there.
func (h *Host) settle(program string) error {
	own, err := launch.Own()
	if err != nil {
		return err
	}
	if h.scratch, err = leftovers.Claim(leftovers.Root(), own.String(),
		[]string{program, sweeperCommand}); err != nil {
		return err
	}
	settled := filepath.Join(h.scratch.Dir, "agent")
	if err := errors.Join(os.Rename(program, settled), os.Remove(filepath.Dir(program))); err != nil {
		return errors.Join(err, h.scratch.Release())
	}
	h.deployer = process.New("", []string{settled, JanitorCommand}, []string{settled, KeeperCommand},
		own.String())
	return nil
}

// removeProgram removes the program with the folder that it was copied to.
func removeProgram(program string) error {
	return errors.Join(os.Remove(program), os.Remove(filepath.Dir(program)))
}

// listen opens a port at the address at which the conductor has called, so that it can see
// that it reaches units here.
func (h *Host) listen() error {
	called := strings.Fields(os.Getenv("SSH_CONNECTION")) // who calls and its port, who is called and its port
	if len(called) != 4 {
		return errors.New("SSH_CONNECTION is not set: the agent is started by cleave through sshd, not by hand")
	}
	ports, err := launch.ReservePorts(1)
	if err != nil {
		return err
	}
	defer ports.Close()
	h.about = About{Address: called[2], Port: ports.Numbers[0]}
	h.probe, err = net.Listen("tcp", net.JoinHostPort(called[2], fmt.Sprint(ports.Numbers[0])))
	return err
}

// leave ends what runs and removes what there is.
func (h *Host) leave() error {
	close(h.gone)
	if h.probe != nil {
		_ = h.probe.Close() // nobody was accepted
	}
	return errors.Join(h.Stop(None{}, nil), h.scratch.Release())
}

// Sign is a sign of the conductor.
func (h *Host) Sign(None, *None) error {
	select {
	case h.signs <- struct{}{}:
	default:
	}
	return nil
}

// About says what the host is.
func (h *Host) About(_ None, about *About) error {
	*about = h.about
	return nil
}

// Reaches tries whether another host can be reached from this one.
func (h *Host) Reaches(address string, _ *None) error {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}

// path returns the path of a program that was sent. Nothing else can be named.
func (h *Host) path(name string) (string, error) {
	if hash, err := hex.DecodeString(name); err != nil || len(hash) == 0 {
		return "", fmt.Errorf("%q is no name of a program", name)
	}
	return filepath.Join(h.scratch.Dir, name), nil
}

// Has says whether a program is here, and where it is or would be.
func (h *Host) Has(name string, at *string) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path, err := h.path(name)
	if h.programs[name] {
		*at = path
	}
	return err
}

// Put takes a piece of a program.
func (h *Host) Put(piece Piece, at *string) error {
	path, err := h.path(piece.Name)
	if err != nil {
		return err
	}
	how := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if piece.First {
		how |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, 0o700)
	if err != nil {
		return err
	}
	_, err = file.Write(piece.Data)
	if err = errors.Join(err, file.Close()); err != nil || !piece.Last {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs[piece.Name], *at = true, path
	return nil
}

// Check refuses what the host cannot carry of a layout.
func (h *Host) Check(layout lab.Layout, _ *None) error {
	return h.deployer.Preflight(context.Background(), layout)
}
