package rehearsalunit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// ProbeCommand is the first argument of a unit's program that runs ProbeMain. The arguments of probe follow.
const ProbeCommand = "probe"

// probe sends a request, which it reads from in, to a front as often as its arguments say, and pauses before
// each. The arguments are the address, the number of requests, and the pause (such as 10ms).
//
// It is a process of its own: a sender within the unit, which blocks its thread, keeps Go's scheduler awake
// for as long as it waits, and that takes several times the CPU time of a request.
func probe(arguments []string, in io.Reader) error {
	if len(arguments) != 3 {
		return errors.New("want an address, a number and a pause")
	}
	number, err := strconv.Atoi(arguments[1])
	pause, pauseErr := time.ParseDuration(arguments[2])
	request, readErr := io.ReadAll(io.LimitReader(in, maxMessage))
	if err := errors.Join(err, pauseErr, readErr); err != nil {
		return err
	}
	connection, err := net.DialTimeout("tcp", arguments[0], requestTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }() // no data is in flight
	answers := bufio.NewReader(connection)
	for range number {
		time.Sleep(pause)
		if err := connection.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
			return err
		}
		if err := roundTrip(connection, answers, request); err != nil {
			return err
		}
	}
	return nil
}

// roundTrip sends a request and reads its answer. A refusal is an error, since its CPU time is not that of
// the request.
func roundTrip(to io.Writer, answers *bufio.Reader, request []byte) error {
	if _, err := to.Write(request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	err = errors.Join(err, answer.Body.Close())
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a probe was answered %s: %.200q", answer.Status, body)
	}
	return err
}

// sendProbes runs probe in a process of its own.
func sendProbes(ctx context.Context, address string, request []byte, number int, pause time.Duration) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, program, ProbeCommand, address, strconv.Itoa(number), pause.String())
	command.Stdin = bytes.NewReader(request)
	command.Stderr = &complaint
	if err := command.Run(); err != nil {
		return fmt.Errorf("send probes: %w: %.500s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	return nil
}

// ProbeMain ends the process with the result of probe.
func ProbeMain() {
	if err := probe(os.Args[2:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
