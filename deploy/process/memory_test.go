package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
		if err := d.Stop(); err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != isServer {
				t.Errorf("server %v: %s: %v", isServer, path, err)
			}
			_ = os.Remove(path)
		}
	}
}
