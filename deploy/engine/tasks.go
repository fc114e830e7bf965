package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Task is one life of a replica of a service.
type Task struct {
	ID           string
	ServiceID    string
	NodeID       string // "" until the swarm has chosen one
	DesiredState string
	Status       struct {
		State           string // new, pending, preparing, starting, running, complete, failed, rejected ...
		Message, Err    string
		ContainerStatus struct {
			ContainerID string
			ExitCode    int
		}
	}
	NetworksAttachments []struct {
		Network   struct{ ID string }
		Addresses []string // with the length of their prefix, such as 198.18.0.2/22
	}
}

// Tasks returns the tasks that match a filter of the Engine API: "service" with an ID, or "label" with
// NAME=VALUE. Tasks that have ended are among them.
func (c *Client) Tasks(ctx context.Context, filter, value string) ([]Task, error) {
	var tasks []Task
	err := c.call(ctx, http.MethodGet, "/tasks", where(map[string][]string{filter: {value}}), nil, &tasks)
	return tasks, named("list the tasks of the "+filter, value, err)
}

// logPatience bounds how long a swarm may take to send the log of a task.
const logPatience = 5 * time.Second

const (
	// maxPiece is the longest piece of a log, in bytes: drivers cut lines at 16 KiB.
	maxPiece = 1 << 20
	// logOverlap is the time before the mark from which the log is read again. Timestamps in the log may
	// decrease between pieces of different outputs, so a piece before the mark may be new.
	logOverlap = time.Second
	// failureOutput is the number of the output with the daemon's error. 0 to 2 are stdin, stdout and stderr.
	failureOutput = 3
)

// LogMark marks the position up to which the log of a task was read, for each output by its number. The zero
// value is the beginning.
type LogMark [failureOutput]struct {
	at     string // timestamp of the last piece that was read, as the daemon writes it
	pieces int    // number of pieces with that timestamp that were read
}

// TaskLog copies what a task has written to stdout and stderr since a mark, and moves the mark. If it fails,
// the mark still moves past the pieces that were read before the error.
func (c *Client) TaskLog(ctx context.Context, task string, mark *LogMark, into io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, logPatience, fmt.Errorf("no answer for %v", logPatience))
	defer cancel()
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "timestamps": {"1"}}
	if since := mark.since(); since != "" {
		query.Set("since", since)
	}
	answer, err := c.send(ctx, http.MethodGet, "/tasks/"+task+"/logs", query, nil)
	if err != nil {
		return named("read the log of the task", task, err)
	}
	err = mark.copy(into, answer.Body)
	return named("read the log of the task", task, errors.Join(err, answer.Body.Close()))
}

// since returns the time from which the log is read, in the form of the API; "" for the beginning.
func (m *LogMark) since() string {
	newest := ""
	for _, output := range m {
		newest = max(newest, output.at)
	}
	at, err := time.Parse(time.RFC3339Nano, newest)
	if err != nil {
		return ""
	}
	at = at.Add(-logOverlap)
	return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond())
}

// copy copies the new pieces without their timestamps, and skips pieces that were read before. Each piece
// has a head of 8 bytes: the first is the number of the output, the last four are the length of the piece.
// Within an output, timestamps never decrease. They have a fixed width and can be compared as strings.
func (m *LogMark) copy(into io.Writer, from io.Reader) error {
	var again [failureOutput]int // pieces of this answer with the mark's timestamp, by output
	for {
		var head [8]byte
		if _, err := io.ReadFull(from, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[4:])
		if length > maxPiece {
			return fmt.Errorf("a piece of it has %d bytes, and at most %d are read", length, maxPiece)
		}
		piece := make([]byte, length)
		if _, err := io.ReadFull(from, piece); err != nil {
			return err
		}
		if head[0] >= failureOutput {
			return errors.New(strings.TrimSpace(string(piece)))
		}
		at, text, _ := strings.Cut(string(piece), " ")
		read, seen := &m[head[0]], &again[head[0]]
		switch {
		case at < read.at:
			continue
		case at > read.at:
			read.at = at
			read.pieces = 0
			*seen = 0
		}
		if *seen++; *seen <= read.pieces {
			continue
		}
		read.pieces = *seen
		if _, err := io.WriteString(into, text); err != nil {
			return err
		}
	}
}
