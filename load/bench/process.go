//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pinned runs a program on one processor, at real-time priority where that is
// permitted: what else runs on the host then disturbs less.
func pinned(core string, command []string) *exec.Cmd {
	prefix := []string{"taskset", "-c", core}
	if exec.Command("chrt", "-f", "10", "true").Run() == nil {
		prefix = append(prefix, "chrt", "-f", "10")
	}
	all := append(prefix, command...)
	return exec.Command(all[0], all[1:]...)
}

// running is a target at work.
type running struct {
	command *exec.Cmd
	out     *bufio.Scanner
	url     string
}

// start starts a target on processor 1 and waits until it listens.
func start(self string, options []string) (*running, error) {
	command := pinned("1", append([]string{self, "target"}, options...))
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

// stop ends the target and reads what it counted.
func (t *running) stop() (served, error) {
	var count served
	if err := t.command.Process.Signal(syscall.SIGTERM); err != nil {
		return count, err
	}
	var err error
	if t.out.Scan() {
		err = json.Unmarshal(t.out.Bytes(), &count)
	}
	return count, errors.Join(err, t.command.Wait())
}

// generated is what a run of a tool showed.
type generated struct {
	cpu       time.Duration
	p99, p999 float64 // seconds, of our own tool
}

// notAchieved is our own exit code for a load that says little of the target;
// for the processor time and the precision of the generator it counts.
const notAchieved = 4

// generate runs a tool on processor 0.
func generate(command []string, url, scratch string) (generated, error) {
	report := filepath.Join(scratch, "report")
	if err := os.WriteFile(report, []byte("GET "+url+"\n"), 0o644); err != nil { // vegeta's targets
		return generated{}, err
	}
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = strings.NewReplacer(urlMark, url, reportMark, report).Replace(word)
	}
	run := pinned("0", words)
	text, err := run.CombinedOutput()
	if err != nil && run.ProcessState.ExitCode() != notAchieved {
		return generated{}, fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, text)
	}
	g := generated{cpu: run.ProcessState.UserTime() + run.ProcessState.SystemTime()}
	if words[1] != "load" || !strings.HasSuffix(words[0], "cleave") {
		return g, nil
	}
	return g, g.read(report)
}

// read takes the percentiles from our own report.
func (g *generated) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var document struct {
		Response struct {
			P99  *float64 `json:"p99"`
			P999 *float64 `json:"p999"`
		} `json:"response_time"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if document.Response.P99 == nil || document.Response.P999 == nil {
		return fmt.Errorf("%s has no percentiles", path)
	}
	g.p99, g.p999 = *document.Response.P99, *document.Response.P999
	return nil
}
