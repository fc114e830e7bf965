// Package starter is the first process of a container on nodes that have nothing of the
// conductor's host: it fills the unit's volume, gives it to a user who may do nothing else,
// runs what prepares a server, and then the unit's program as that user. It passes on what it
// is told by signals, and tells by its exit status when the kernel ended the program for want
// of memory. As a door it lets the conductor in to the network of the units.
//
// Entry points: Run, Door.
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

// Run does what the orders in a file say and returns the exit status of the unit's program.
func Run(path string) (status int, err error) {
	orders, err := read(path)
	if err == nil {
		err = fill(orders)
	}
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	for _, setup := range orders.Setups {
		if status, err := play(orders, setup, signals); err != nil || status != 0 {
			return max(status, 1), errors.Join(fmt.Errorf("prepare with %s: exit status %d", setup[0], status), err)
		}
	}
	return play(orders, orders.Run, signals)
}

// read reads orders.
func read(path string) (orders lab.StarterOrders, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return orders, err
	}
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		err = json.NewDecoder(plain).Decode(&orders)
	}
	if err == nil && len(orders.Run) == 0 {
		err = errors.New("they name no program")
	}
	if err != nil {
		return orders, fmt.Errorf("read orders: %w", err)
	}
	return orders, nil
}

// fill writes what is in the volume to begin with.
func fill(orders lab.StarterOrders) error {
	give := func(path string) error { return os.Chown(path, orders.User, orders.User) }
	for _, file := range orders.Files {
		err := error(nil)
		if file.Folder {
			err = os.MkdirAll(file.Path, 0o700)
		} else {
			err = os.WriteFile(file.Path, file.Data, 0o600)
		}
		if err = errors.Join(err, give(file.Path)); err != nil {
			return fmt.Errorf("fill the volume: %w", err)
		}
	}
	return give(orders.Volume) // the last: from now on it is not ours
}

// play runs a program to its end. Orphans that others leave are ended here, too.
func play(orders lab.StarterOrders, words []string, signals <-chan os.Signal) (status int, err error) {
	command := exec.Command(words[0], words[1:]...)
	command.Env, command.Dir, command.Stdout, command.Stderr = orders.Env, orders.Dir, os.Stdout, os.Stderr
	user := uint32(orders.User)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if err := command.Start(); err != nil {
		return 1, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case told := <-signals:
				_ = command.Process.Signal(told) // it may have ended
			case <-ended:
				return
			}
		}
	}()
	for {
		var how unix.WaitStatus
		one, err := unix.Wait4(-1, &how, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && one != command.Process.Pid:
		case err != nil:
			return 1, err
		case how.Signaled() && how.Signal() == unix.SIGKILL && outOfMemory():
			return lab.StarterOutOfMemory, nil
		case how.Signaled():
			const signalled = 128 // as shells have it
			return signalled + int(how.Signal()), nil
		default:
			return how.ExitStatus(), nil
		}
	}
}

// outOfMemory reports whether the kernel has ended something in this container at its limit.
func outOfMemory() bool {
	const groups = "/sys/fs/cgroup"
	for _, path := range []string{"memory.events", "memory/memory.oom_control"} { // of version 2, of version 1
		text, err := os.ReadFile(filepath.Join(groups, path))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) == 2 && words[0] == "oom_kill" {
				times, err := strconv.Atoi(words[1])
				return err == nil && times > 0
			}
		}
	}
	return false
}
