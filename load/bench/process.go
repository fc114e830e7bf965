//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// raisePriority gives the autogroup of this session the highest share of the processors, if that is
// permitted, so that other programs disturb less. restore sets the share to the kernel's default. Real-time
// priority is no alternative: a Go program whose collector waits for a thread by spinning would keep that
// thread from its only processor for ever.
func raisePriority() (restore func()) {
	set := func(niceness string) error { return os.WriteFile("/proc/self/autogroup", []byte(niceness), 0) }
	if set("-20") != nil {
		return func() {}
	}
	return func() { _ = set("0") } // permitted, since the first write was
}

// Processors of generator and target.
const (
	generatorCore = "0"
	targetCore    = "1"
)

// pinned returns a command that runs on some processors, in the notation of taskset.
func pinned(ctx context.Context, cores string, command []string) *exec.Cmd {
	return exec.CommandContext(ctx, "taskset", append([]string{"-c", cores}, command...)...)
}

// running is a target process.
type running struct {
	command *exec.Cmd
	out     *bufio.Scanner
	url     string
	counter string // URL of nginx's request counter; empty: the target is not nginx
}

// start starts this program, self, as a target and waits until the target listens.
func start(self string, options []string) (*running, error) {
	command := pinned(context.Background(), targetCore, append([]string{self, "target"}, options...))
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	t := &running{command: command, out: bufio.NewScanner(out)}
	if !t.out.Scan() {
		return nil, errors.Join(errors.New("the target did not start"), command.Wait())
	}
	t.url = "http://127.0.0.1:" + t.out.Text() + "/"
	return t, nil
}

// stop ends the target and returns the number of requests that the target received.
func (t *running) stop() (requests int64, err error) {
	if t.counter != "" { // nginx reports its count only while it runs
		requests, err = nginxCount(t.counter)
	}
	err = errors.Join(err, t.command.Process.Signal(syscall.SIGTERM))
	if t.counter == "" && err == nil && t.out.Scan() {
		requests, err = strconv.ParseInt(t.out.Text(), 10, 64)
	}
	return requests, errors.Join(err, t.command.Wait())
}

// generated is the result of a run of a tool.
type generated struct {
	cpu    time.Duration
	memory []float64      // resident bytes, about ten times a second; the last is the peak
	report record.Summary // of cleave only
}

// notAchieved is cleave's exit code for a load below the planned rate. The processor time and the precision
// of such a load are valid.
const notAchieved = 4

// generate runs a tool on some processors and returns its use of processor and memory. It kills the tool
// at the limit. vegeta reads its targets from the report file; cleave replaces the file by its report.
func generate(cores string, command []string, url, scratch string, limit time.Duration) (generated, error) {
	var g generated
	own := filepath.Join(scratch, reportFile)
	if err := os.WriteFile(own, []byte("GET "+url+"\n"), 0o644); err != nil {
		return g, err
	}
	arguments := replace(command, url, scratch)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	run := pinned(ctx, cores, arguments)
	var text bytes.Buffer
	run.Stdout = &text
	run.Stderr = &text
	if err := run.Start(); err != nil {
		return g, err
	}
	watched := watchMemory(run.Process.Pid)
	err := run.Wait()
	g.memory = watched()
	if err != nil && run.ProcessState.ExitCode() != notAchieved {
		return g, fmt.Errorf("%s: %w\n%s", strings.Join(arguments, " "), err, text.String())
	}
	g.cpu = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	if arguments[1] != "load" || filepath.Base(arguments[0]) != "cleave" {
		return g, nil
	}
	document, err := os.ReadFile(own)
	if err == nil {
		err = json.Unmarshal(document, &g.report)
	}
	return g, err
}
