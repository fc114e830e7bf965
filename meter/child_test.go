package meter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// childVariable turns the test binary into a unit that obeys its input.
const childVariable = "CLEAVE_METER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(obey())
	}
	os.Exit(m.Run())
}

// obey carries out one command per line and answers each with one line.
func obey() int {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, argument, _ := strings.Cut(lines.Text(), " ")
		amount, _ := strconv.Atoi(argument)
		answer := "done"
		switch verb {
		case "usage":
			answer = strconv.FormatInt(int64(cpuOfSelf()), 10)
		case "burn": // milliseconds of CPU time
			for end := cpuOfSelf() + time.Duration(amount)*time.Millisecond; cpuOfSelf() < end; {
				_ = spin(10_000)
			}
		case "allocate": // bytes, every page written
			if err := touch(amount); err != nil {
				answer = err.Error()
			}
		case "write": // bytes, in one call
			if err := writeNowhere(amount); err != nil {
				answer = err.Error()
			}
		case "block": // number of short sleeps
			for range amount {
				time.Sleep(50 * time.Microsecond)
			}
		case "run": // commands for a child that ends after them
			answer = runChild(argument)
		case "start": // commands for a child that stays
			answer = keepChild(argument)
		case "work": // in the given folder
			if err := os.Chdir(argument); err != nil {
				answer = err.Error()
			}
		case "listen": // on the first free port from the given one on
			answer = listenFrom(amount)
		case "exit":
			return 0
		}
		fmt.Println(answer)
	}
	return 0
}

// runChild starts a child, sends it commands, which are separated by semicolons, and waits for its end.
func runChild(orders string) string {
	command := exec.Command(os.Args[0])
	command.Stdin = strings.NewReader(strings.ReplaceAll(orders, ";", "\n") + "\n")
	if err := command.Run(); err != nil {
		return err.Error()
	}
	return "done"
}

// listeners holds the listeners of a child, which would be closed when the garbage collector found them.
var listeners []net.Listener

// listenFrom listens on the first free port from a given one on, until the process ends. It returns the
// port.
func listenFrom(port int) string {
	for ; ; port++ {
		if listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			listeners = append(listeners, listener)
			return strconv.Itoa(port)
		} else if !errors.Is(err, unix.EADDRINUSE) {
			return err.Error()
		}
	}
}

// keepChild starts a child that lives as long as its parent, sends it commands, and returns its last
// answer. text holds the commands, after the arguments of the child and | if there are any.
func keepChild(text string) string {
	arguments, orders, given := strings.Cut(text, "|")
	if !given {
		arguments, orders = "", text
	}
	command := exec.Command(os.Args[0], strings.Fields(arguments)...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := command.StdinPipe()
	if err != nil {
		return err.Error()
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return err.Error()
	}
	if err := command.Start(); err != nil {
		return err.Error()
	}
	answers := bufio.NewScanner(output)
	for order := range strings.SplitSeq(orders, ";") {
		if _, err := io.WriteString(input, order+"\n"); err != nil || !answers.Scan() {
			return "the child does not obey"
		}
	}
	return answers.Text()
}

// touch maps a number of bytes and writes to every page. They are outside of the Go heap, so the race
// detector's shadow memory does not count.
func touch(amount int) error {
	block, err := unix.Mmap(-1, 0, amount, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	for i := 0; i < len(block); i += os.Getpagesize() {
		block[i] = 1
	}
	return err
}

// writeNowhere writes a number of bytes with one call.
func writeNowhere(amount int) error {
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = sink.Close() }() // nothing was kept
	_, err = sink.Write(make([]byte, amount))
	return err
}

// cpuOfSelf returns the CPU time of this process by getrusage.
func cpuOfSelf() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot happen: the arguments are constants
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// child is a unit that the test controls.
type child struct {
	t       *testing.T
	unit    lab.Unit
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Scanner
}

// startChild starts a unit and stops it at the end of the test.
func startChild(t *testing.T, name, role string) *child {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1", "GORACE=atexit_sleep_ms=0")
	input, err := command.StdinPipe()
	testset.Must(t, err)
	output, err := command.StdoutPipe()
	testset.Must(t, err)
	testset.Must(t, command.Start())
	c := &child{t: t, command: command, input: input, output: bufio.NewScanner(output)}
	c.unit = lab.Unit{Name: name, Role: role, PID: command.Process.Pid}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	c.do("hello")
	return c
}

// do sends a command, waits until it is done and returns the answer.
func (c *child) do(order string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.input, order+"\n"); err != nil {
		c.t.Fatal(err)
	}
	if !c.output.Scan() {
		c.t.Fatalf("child ended at %q", order)
	}
	return c.output.Text()
}

// usage returns the child's CPU time by its own measurement.
func (c *child) usage() time.Duration {
	c.t.Helper()
	nanoseconds, err := strconv.ParseInt(c.do("usage"), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return time.Duration(nanoseconds)
}

// end stops the child and waits for it.
func (c *child) end() {
	c.t.Helper()
	c.leave()
	_ = c.command.Wait() // its exit status does not matter
}

// leave stops the child without waiting for it, so that it becomes a zombie.
func (c *child) leave() {
	c.t.Helper()
	if _, err := io.WriteString(c.input, "exit\n"); err != nil {
		c.t.Fatal(err)
	}
	for c.output.Scan() {
		c.t.Logf("child said %q", c.output.Text())
	}
}
