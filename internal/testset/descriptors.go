package testset

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// CallWithoutDescriptors dials an address while this process, which listens there, has no file descriptor
// left.
func CallWithoutDescriptors(t testing.TB, address string) {
	t.Helper()
	giveBack := TakeDescriptors(t, 1) // for the caller
	defer giveBack()
	caller, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // the failure of Accept in the listener cannot be observed from here
	_ = caller.Close()                // nothing was sent
}

// TakeDescriptors leaves this process a number of file descriptors, until the test's end or a call of
// giveBack.
func TakeDescriptors(t testing.TB, left int) (giveBack func()) {
	t.Helper()
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	few := syscall.Rlimit{Cur: min(usual.Cur, 1024), Max: usual.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
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
