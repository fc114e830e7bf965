//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// player runs Cleave's program and servers of known truth.
type player struct {
	cleave, server string // programs
	results        string // folder
	quick          bool
	story          io.Writer // to which commands are printed
}

// loaded holds the parts of the document of `cleave load` that are compared with the truth.
type loaded struct {
	Sent     int64    `json:"sent"`
	OK       int64    `json:"ok"`
	Capacity searched `json:"capacity"`
}

// searched is a capacity with its bracket, per second; all are 0 if none was found.
type searched struct {
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// run runs a command of Cleave and reads the document that it writes. If there is a document, an
// exit code other than 0 is not an error: a load with failed requests ends with such a code.
func (p player) run(ctx context.Context, document any, arguments ...string) error {
	path := filepath.Join(p.results, "document.json")
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the last document: %w", err)
	}
	arguments = append(arguments, "--json", path, "--progress", "none")
	if arguments[0] != "load" {
		arguments = append(arguments, "--results", filepath.Join(p.results, "runs"))
	}
	fmt.Fprintln(p.story, "cleave", strings.Join(arguments, " "))
	command := exec.CommandContext(ctx, p.cleave, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	said, failed := command.CombinedOutput()
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s %s wrote no document: %w\n%s", p.cleave, arguments[0],
			errors.Join(failed, ctx.Err()), last(said))
	}
	if err := json.Unmarshal(text, document); err != nil {
		return fmt.Errorf("read the document of %s %s: %w", p.cleave, arguments[0], err)
	}
	return nil
}

// analyse runs a command that compares variants, and counts its trials. A quick player plays few blocks
// instead of blocks, and without gates, because all trials might be struck out on a busy host.
func (p player) analyse(
	ctx context.Context, found *tally, seed uint64, lasts time.Duration, blocks, few int, arguments ...string,
) (a lab.Analysis, err error) {
	if p.quick {
		blocks = few
		arguments = append(arguments, "--no-gates")
	}
	arguments = append(arguments, "--duration", lasts.String(), "--blocks", fmt.Sprint(blocks), "--seed",
		fmt.Sprint(seed))
	if err = p.run(ctx, &a, arguments...); err == nil {
		found.addTrials(a)
	}
	return a, err
}

// get sends a GET request.
func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

// last returns the end of the output of a command.
func last(said []byte) []byte {
	const most = 2000
	return bytes.TrimSpace(said[max(0, len(said)-most):])
}

// serving starts a server with flags and variables, and calls f with its address while it runs.
func (p player) serving(
	ctx context.Context, flags string, variables []string, f func(url string) error,
) error {
	server := exec.CommandContext(ctx, p.server, append([]string{"serve"}, strings.Fields(flags)...)...)
	server.Env = append(os.Environ(), variables...)
	url, _, err := startAndRead(server)
	if err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	}()
	return f(url)
}

// startAndRead starts a program, and returns the first line that it prints and the rest of its output.
func startAndRead(command *exec.Cmd) (line string, rest *bufio.Reader, err error) {
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", command, err)
	}
	rest = bufio.NewReader(out)
	if line, err = rest.ReadString('\n'); err != nil {
		_ = command.Process.Kill() // the error tells enough
		_ = command.Wait()
		return "", nil, fmt.Errorf("read the first line of %s: %w", command, err)
	}
	return strings.TrimSpace(line), rest, nil
}
