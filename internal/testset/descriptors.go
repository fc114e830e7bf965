package testset

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// CallWithoutDescriptors dials a TCP address on which this process listens, while the process has no file
// descriptor left to accept the connection.
func CallWithoutDescriptors(t testing.TB, address string) {
	t.Helper()
	giveBack := TakeDescriptors(t, 1) // one for the dialing side of the connection
	defer giveBack()
	caller, err := net.Dial("tcp", address)
	Must(t, err)
	time.Sleep(50 * time.Millisecond) // the failure of Accept in the listener cannot be observed from here
	_ = caller.Close()                // nothing was sent
}

// TakeDescriptors opens files until this process can open only left more. It closes them when giveBack is
// called, at the latest at the end of the test.
func TakeDescriptors(t testing.TB, left int) (giveBack func()) {
	t.Helper()
	var usual syscall.Rlimit
	Must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual))
	// A low limit, so that few files have to be opened.
	few := syscall.Rlimit{Cur: min(usual.Cur, 1024), Max: usual.Max}
	Must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	var taken []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			break // all are taken
		}
		taken = append(taken, file)
	}
	giveBack = func() {
		for _, file := range taken {
			_ = file.Close() // only read
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
			t.Error(err)
		}
		taken = nil
	}
	t.Cleanup(giveBack)
	for range min(left, len(taken)) {
		_ = taken[len(taken)-1].Close() // only read
		taken = taken[:len(taken)-1]
	}
	return giveBack
}
