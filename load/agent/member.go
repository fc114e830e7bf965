package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
)

// Time limits for ending an agent.
const (
	reportTimeout = 10 * time.Second // for sending the report
	exitTimeout   = 2 * time.Second  // for exiting after the end of its standard input
	outputTimeout = time.Second      // for the end of its standard error after its exit
)

// member is an agent from the leader's point of view.
type member struct {
	number  int
	name    string // "agent 2 (ssh b cleave agent)"
	process *exec.Cmd
	input   io.WriteCloser // its standard input: the job, then commands
	output  io.ReadCloser  // its standard output: events
	events  chan lab.Event // closed when the agent has ended
	ended   error          // why it exited; set before events is closed
	log     bounded.Tail   // its standard error
	second  func(trial.Second)
	rows    *gatheredRows
	listed  int64           // number of rows that it has sent
	group   context.Context // ends when another agent has failed
}

// start starts an agent in a process group of its own, so that an interrupt typed at the terminal reaches
// the leader only.
func start(group context.Context, number int, command []string) (*member, error) {
	a := &member{number: number, name: fmt.Sprintf("agent %d (%s)", number+1, strings.Join(command, " ")),
		events: make(chan lab.Event), group: group, log: bounded.Tail{Most: 2048}}
	a.process = exec.Command(command[0], command[1:]...)
	a.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.process.Stderr = &a.log
	a.process.WaitDelay = outputTimeout
	var err error
	if a.input, err = a.process.StdinPipe(); err != nil {
		return nil, err
	}
	if a.output, err = a.process.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := a.process.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	go a.listen()
	return a, nil
}

// maxEvent is the size of the longest event of an agent, in bytes; its results come in pieces.
const maxEvent = 64 << 20

// listen forwards the events of the agent until it ends.
func (a *member) listen() {
	defer close(a.events)
	limited := bounded.New(a.output, maxEvent)
	decoder := json.NewDecoder(limited)
	for {
		limited.Next()
		var event lab.Event
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			a.ended = a.process.Wait()
			return
		} else if err != nil {
			_ = a.process.Process.Kill() // it may have ended just now
			_ = a.process.Wait()         // killed
			a.ended = fmt.Errorf("its output is no event: %w", err)
			return
		}
		select {
		case a.events <- event:
		case <-a.group.Done(): // nobody reads events any more
		}
	}
}

// send writes one line to the agent. It ignores errors: an agent that cannot be written to has ended, and
// the next await returns the reason.
func (a *member) send(line any) { _ = json.NewEncoder(a.input).Encode(line) }

// failed returns an error of this agent, with the end of its standard error if there is any.
func (a *member) failed(cause error) error {
	output := strings.ToValidUTF8(a.log.String(), "?")
	if words := strings.Fields(output); len(words) > 0 {
		return fmt.Errorf("%s: %w; its last words: %s", a.name, cause, strings.Join(words, " "))
	}
	return fmt.Errorf("%s: %w", a.name, cause)
}

// await waits for an event of a kind. The error says why it did not come within the limit.
func (a *member) await(ctx context.Context, kind lab.EventKind, limit time.Duration) (lab.Event, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		select {
		case event, ok := <-a.events:
			done, err := a.take(event, ok, kind)
			if done || err != nil {
				return event, err
			}
		case <-ctx.Done():
			return lab.Event{}, ctx.Err()
		case <-a.group.Done():
			return lab.Event{}, context.Cause(a.group)
		case <-timeout.C:
			return lab.Event{}, a.failed(fmt.Errorf("it has not sent the event %q within %v", kind, limit))
		}
	}
}

// take handles an event and reports whether it is the awaited one. ok is false after the last event.
func (a *member) take(event lab.Event, ok bool, kind lab.EventKind) (done bool, err error) {
	switch {
	case !ok && a.ended != nil:
		return false, a.failed(fmt.Errorf("it ended early: %w", a.ended))
	case !ok:
		return false, a.failed(errors.New("it ended early"))
	case event.Event == lab.EventFailed:
		return false, fmt.Errorf("%s: %s", a.name, event.Error)
	case event.Event == eventSecond:
		return false, a.takeSecond(event)
	case event.Event == eventRows && a.rows.wanted():
		return false, a.takeRows(event)
	case event.Event != kind:
		return false, a.failed(fmt.Errorf("it sent the event %q, expected %q", event.Event, kind))
	}
	return true, nil
}

// takeSecond passes on the results of a second.
func (a *member) takeSecond(event lab.Event) error {
	var second trial.Second
	err := json.Unmarshal(event.Data, &second)
	if err == nil && second.Results == nil {
		err = errors.New("it has no results")
	}
	if err != nil {
		return a.failed(fmt.Errorf("a second of its load cannot be read: %w", err))
	}
	if a.second != nil {
		a.second(second)
	}
	return nil
}

// takeRows passes on operations and counts them.
func (a *member) takeRows(event lab.Event) error {
	rows, err := readRows(event.Data)
	if err != nil {
		return a.failed(err)
	}
	a.listed += int64(len(rows))
	a.rows.take(fmt.Sprintf("agent %d", a.number+1), rows)
	return nil
}

// finish waits until the load is over, or stops it when the context ends, and returns the outcome in the
// agent's report.
func (a *member) finish(ctx context.Context, limit time.Duration) (trial.Outcome, error) {
	_, err := a.await(ctx, lab.EventFinished, limit)
	early := ctx.Err() != nil && errors.Is(err, ctx.Err())
	if err != nil && !early {
		return trial.Outcome{}, err
	}
	a.send(lab.Command{Command: lab.CommandStop})
	uncancelled := context.WithoutCancel(ctx)
	if early {
		if _, err := a.await(uncancelled, lab.EventFinished, reportTimeout); err != nil {
			return trial.Outcome{}, err
		}
	}
	event, err := a.await(uncancelled, lab.EventReport, reportTimeout)
	if err != nil {
		return trial.Outcome{}, err
	}
	report, err := ReadReport(lab.UnitReport{Unit: a.name, PID: a.process.Process.Pid, Data: event.Data})
	if err == nil {
		err = a.check(report.Outcome.Results)
	}
	return report.Outcome, err
}

// check returns an error unless the results have as many operations as the agent has sent rows.
func (a *member) check(results *record.Results) error {
	if results == nil {
		return a.failed(errors.New("its report has no results"))
	}
	if sent := results.Sent(record.All); a.rows.wanted() && a.listed != sent {
		return a.failed(fmt.Errorf("it sent %d operations and handed in a list of %d: use the same version of "+
			"cleave everywhere", sent, a.listed))
	}
	return nil
}

// stop ends the agent by closing its input. If it does not exit, or if one of its children keeps its output
// open, stop kills its process group and reads no more.
func (a *member) stop() {
	_ = a.input.Close() // it may be gone already
	timeout := time.NewTimer(exitTimeout)
	defer timeout.Stop()
	for {
		select {
		case _, ok := <-a.events:
			if !ok {
				return
			}
		case <-timeout.C:
			_ = syscall.Kill(-a.process.Process.Pid, syscall.SIGKILL) // it may have ended just now
			_ = a.output.Close()                                      // a child may have left the group
		}
	}
}
