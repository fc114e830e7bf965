package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// playMemory opens one file of shared memory, maps another, and then listens.
func playMemory(address, open, mapped string) {
	kept, err := os.Create(open)
	must(err)
	file, err := os.Create(mapped)
	must(err)
	must(file.Truncate(4096))
	_, err = unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(errors.Join(err, file.Close()))
	_, err = net.Listen("tcp", address)
	must(err)
	time.Sleep(time.Hour)
	_ = kept.Close() // keeps the file reachable, and so open, until here
}

// playUntidy makes a file when it gets SIGTERM.
func playUntidy(begun, left string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	touch(begun)
	<-signals
	touch(left)
}

// TestNoSharedMemoryOfAServerIsLeft checks that the shared memory of a killed server is removed,
// and that of other programs is not: it may belong to others, too.
func TestNoSharedMemoryOfAServerIsLeft(t *testing.T) {
	name := func(what string) string {
		return fmt.Sprintf("%scleave-test-%d-%s", sharedMemoryFolder, os.Getpid(), what)
	}
	for _, isServer := range []bool{true, false} {
		files := []string{name("open"), name("mapped")}
		l := withForeign(t, "memory", "127.0.0.1:{port}", files[0], files[1])
		if isServer {
			l.Units[1].Server = &lab.Server{Kind: "shelf", Ready: func(context.Context, string) error { return nil }}
		}
		d, _ := deploy(t, l)
		for _, path := range files {
			awaitFile(t, path)
		}
		testset.Must(t, d.Stop())
		for _, path := range files {
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != isServer {
				t.Errorf("server %v: %s: %v", isServer, path, err)
			}
			_ = os.Remove(path)
		}
	}
}

// TestTheSetupOfAServerLeavesNoSharedMemory checks that a setup that is given up gets no SIGTERM, after
// which it could make more shared memory unseen.
func TestTheSetupOfAServerLeavesNoSharedMemory(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	left := fmt.Sprintf("%scleave-test-%d-late", sharedMemoryFolder, os.Getpid())
	l := withForeign(t, "sleep")
	untidy := lab.ServerSetup{Program: l.Units[1].Program, Args: []string{"foreign", "untidy", begun, left}}
	l.Units[1].Server = &lab.Server{Kind: "shelf", Setup: []lab.ServerSetup{untidy},
		Ready: func(context.Context, string) error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	deployer := deployer(t)
	folder := deploytest.Folder(t)
	ended := make(chan error, 1)
	go func() {
		_, err := deployer.Deploy(ctx, l, folder)
		ended <- err
	}()
	awaitFile(t, begun)
	cancel()
	if err := <-ended; err == nil {
		t.Error("a trial began although it was given up")
	}
	if err := os.Remove(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was left (%v)", left, err)
	}
}
