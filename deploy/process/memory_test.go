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
	"github.com/cleave-lab/cleave/lab"
)

// playMemory has one file of shared memory open and another mapped, and listens then.
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
	_ = kept.Close() // until then it is open
}

// playUntidy makes a file when it is told to end.
func playUntidy(begun, left string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	touch(begun)
	<-told
	touch(left)
}

// TestNoSharedMemoryOfAServerIsLeft: one that is killed cannot remove it. What a program
// that is no server has there may be another's, too.
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
		deploytest.Must(t, d.Stop())
		for _, path := range files {
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != isServer {
				t.Errorf("server %v: %s: %v", isServer, path, err)
			}
			_ = os.Remove(path)
		}
	}
}

// TestWhatMakesAServersFilesLeavesNoSharedMemory: what it makes after it was told to end is seen by nobody.
func TestWhatMakesAServersFilesLeavesNoSharedMemory(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	left := fmt.Sprintf("%scleave-test-%d-late", sharedMemoryFolder, os.Getpid())
	l := withForeign(t, "sleep")
	untidy := lab.ServerSetup{Program: l.Units[1].Program, Args: []string{"foreign", "untidy", begun, left}}
	l.Units[1].Server = &lab.Server{Kind: "shelf", Setup: []lab.ServerSetup{untidy},
		Ready: func(context.Context, string) error { return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	deployer, folder, ended := deployer(t), deploytest.Folder(t), make(chan error, 1)
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
