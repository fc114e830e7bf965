// Package starter is the first process of a container on nodes that share no files with the
// conductor's host. It fills the unit's volume, gives it to an unprivileged user, and runs the
// setup of a server and then the unit's program as that user. It forwards signals to the program,
// and its exit status tells whether the kernel killed the program for lack of memory. If the
// unit will have faults, it kills, starts, stops and continues the unit's processes at the
// conductor's request. That needs no rights outside of the container.
//
// In separate containers it also lets the conductor connect to the network of the units (ServeProxy), and
// units to the conductor (ServeTunnel).
//
// Entry points: Run, ServeProxy, ServeTunnel.
package starter

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// Run carries out the orders in a file and returns the exit status of the unit's program.
func Run(path string) (status int, err error) {
	orders, err := read(path)
	if err == nil && orders.Volume != "" {
		err = fill(orders)
	}
	if err != nil {
		return 1, err
	}
	c := &container{orders: orders, signals: make(chan os.Signal, 1), children: make(chan os.Signal, 1)}
	signal.Notify(c.signals, unix.SIGTERM, unix.SIGINT)
	signal.Notify(c.children, unix.SIGCHLD)
	defer signal.Stop(c.signals)
	defer signal.Stop(c.children)
	for _, setup := range orders.Setups {
		if status, err := c.play(setup); err != nil || status != 0 {
			return max(status, 1), errors.Join(fmt.Errorf("prepare with %s: exit status %d", setup[0], status), err)
		}
	}
	if orders.Faults != nil {
		if c.requests, err = listen(*orders.Faults); err != nil {
			return 1, fmt.Errorf("make ready for faults: %w", err)
		}
	}
	return c.play(orders.Run)
}

// read reads the orders from a file of compressed JSON. It returns an error if they name no program.
func read(path string) (orders lab.StarterOrders, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return orders, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		err = json.NewDecoder(unpacked).Decode(&orders)
	}
	if err == nil && len(orders.Run) == 0 {
		err = errors.New("they name no program")
	}
	if err != nil {
		return orders, fmt.Errorf("read orders: %w", err)
	}
	return orders, nil
}

// fill writes the first files of the volume and gives it to the unit's user.
func fill(orders lab.StarterOrders) error {
	chown := func(path string) error { return os.Chown(path, orders.User, orders.User) }
	for _, file := range orders.Files {
		var err error
		if file.Folder {
			err = os.MkdirAll(file.Path, 0o700)
		} else {
			err = os.WriteFile(file.Path, file.Data, 0o600)
		}
		if err = errors.Join(err, chown(file.Path)); err != nil {
			return fmt.Errorf("fill the volume: %w", err)
		}
	}
	return chown(orders.Volume) // the last step: from now on the user can change it
}

// container is the container whose first process the starter is.
type container struct {
	orders   lab.StarterOrders
	program  int            // the process that runs; 0: a fault has ended it
	signals  chan os.Signal // to be forwarded to the program
	children chan os.Signal // SIGCHLD: processes have ended
	requests <-chan request // of the conductor; nil if the unit will have no faults
}

// play runs a command until it ends, and returns its exit status. If a fault ends it, play goes on: the
// command may be started again.
func (c *container) play(command []string) (status int, err error) {
	if err := c.start(command); err != nil {
		return 1, err
	}
	for {
		select {
		case <-c.children:
			if status, ended := c.reap(); ended {
				return status, nil
			}
		case received := <-c.signals:
			if c.program == 0 {
				return signalled + int(received.(unix.Signal)), nil
			}
			_ = unix.Kill(c.program, received.(unix.Signal)) // it may have ended
		case r := <-c.requests:
			if status, ended := c.reap(); ended { // the program has ended before the fault
				return status, nil
			}
			result, err := c.carryOut(r.text)
			r.done <- outcome{result, err}
		}
	}
}

// start starts a command as the unit's user.
func (c *container) start(command []string) error {
	program := exec.Command(command[0], command[1:]...)
	program.Env = c.orders.Env
	program.Dir = c.orders.Dir
	program.Stdout = os.Stdout
	program.Stderr = os.Stderr
	if user := uint32(c.orders.User); user != 0 {
		program.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	if err := program.Start(); err != nil {
		return err
	}
	c.program = program.Process.Pid
	return program.Process.Release() // reap waits for the process
}

// signalled plus the number of a signal is the exit status of a program that the signal has ended, as in
// shells.
const signalled = 128

// reap waits for all processes that have ended, orphans included. If the program is among them, ended is true
// and status its exit status.
func (c *container) reap() (status int, ended bool) {
	for {
		var end unix.WaitStatus
		process, err := unix.Wait4(-1, &end, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || process == 0: // no process has ended
			return status, ended
		case process != c.program:
		case end.Signal() == unix.SIGKILL && outOfMemory():
			status, ended = lab.StarterOutOfMemory, true
		case end.Signaled():
			status = signalled + int(end.Signal())
			ended = true
		default:
			status = end.ExitStatus()
			ended = true
		}
	}
}

// outOfMemory reports whether the kernel has killed a process of this container at its memory limit.
func outOfMemory() bool {
	const groups = "/sys/fs/cgroup"
	for _, path := range []string{"memory.events", "memory/memory.oom_control"} { // of version 2, of version 1
		text, err := os.ReadFile(filepath.Join(groups, path))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "oom_kill" {
				kills, err := strconv.Atoi(fields[1])
				return err == nil && kills > 0
			}
		}
	}
	return false
}
