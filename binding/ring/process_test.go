package ring

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
)

// partVariable is the environment variable that makes the test binary one of the
// processes of a test: "echo" or the number of a sender.
const partVariable = "CLEAVE_RING_TEST_PART"

// The sizes that all processes of a test use.
const (
	processCapacity = 8
	processInboxes  = 2
	processMessages = 20_000
)

func TestMain(m *testing.M) {
	part := os.Getenv(partVariable)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := play(part); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play runs a process of a test, on the memory of descriptor 3, which it inherits.
func play(part string) error {
	row, err := mapRow(3)
	if err != nil {
		return err
	}
	if part == "echo" {
		return echo(&row)
	}
	sender, err := strconv.Atoi(part)
	if err != nil {
		return err
	}
	return sendAll(&row, sender, processMessages, Yield)
}

// echo sends every message of inbox 1 back to inbox 0, until a 0.
func echo(row *Row) error {
	reader := row.Reader(1)
	for {
		message, ok := reader.Receive()
		if !ok {
			if err := reader.SleepAlone(); err != nil {
				return err
			}
			continue
		}
		if message == 0 {
			return nil
		}
		if err := row.Send(0, message); err != nil {
			return err
		}
	}
}

func mapRow(descriptor int) (Row, error) {
	memory, err := syscall.Mmap(descriptor, 0, processInboxes*Size(processCapacity),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return Row{}, err
	}
	return Attach(memory, processInboxes, processCapacity)
}

// startParts starts a process per part and returns their shared inboxes.
func startParts(t *testing.T, parts ...string) Row {
	t.Helper()
	descriptor, err := unix.MemfdCreate("ring", unix.MFD_CLOEXEC)
	testset.Must(t, err)
	memory := os.NewFile(uintptr(descriptor), "ring")
	defer func() { _ = memory.Close() }() // the mapping stays
	testset.Must(t, memory.Truncate(processInboxes*int64(Size(processCapacity))))
	row, err := mapRow(descriptor)
	testset.Must(t, err)
	for _, part := range parts {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), partVariable+"="+part)
		command.ExtraFiles = []*os.File{memory}
		command.Stderr = os.Stderr
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		testset.Must(t, command.Start())
		t.Cleanup(func() {
			if t.Failed() {
				_ = command.Process.Kill() // it may wait for a message that never comes
			}
			if err := command.Wait(); err != nil && !t.Failed() {
				t.Errorf("process %s: %v", part, err)
			}
		})
	}
	return row
}

func TestManySendingProcesses(t *testing.T) {
	row := startParts(t, "0", "1", "2")
	reader := row.Reader(0)
	if err := receiveAll(&reader, 3*processMessages); err != nil {
		t.Error(err)
	}
}

func TestEchoBetweenProcesses(t *testing.T) {
	row := startParts(t, "echo")
	reader := row.Reader(0)
	for sent := uint32(1); sent <= 2000; sent++ {
		testset.Must(t, row.Send(1, sent))
		testset.Must(t, reader.Sleep())
		if got, ok := reader.Receive(); !ok || got != sent {
			t.Fatalf("sent %d, got %d, %t", sent, got, ok)
		}
	}
	testset.Must(t, row.Send(1, 0))
}
