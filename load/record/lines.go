package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// LineWriter writes one JSON object per operation and line.
type LineWriter struct {
	out  *bufio.Writer
	enc  *json.Encoder
	what string        // what it writes, for errors
	of   func(Row) any // returns the JSON object of a row
}

// NewLineWriter returns a writer of a list of operations to w.
func NewLineWriter(w io.Writer) *LineWriter { return newLineWriter(w, "list of operations", lineOf) }

func newLineWriter(w io.Writer, what string, of func(Row) any) *LineWriter {
	out := bufio.NewWriter(w)
	return &LineWriter{out, json.NewEncoder(out), what, of}
}

// Write writes a row as a line.
func (l *LineWriter) Write(r Row) error {
	if err := l.enc.Encode(l.of(r)); err != nil {
		return fmt.Errorf("%s: %w", l.what, err)
	}
	return nil
}

// Flush writes what is still buffered.
func (l *LineWriter) Flush() error { return l.out.Flush() }

// line is a Row in JSON. Times are in seconds, sizes in bytes; empty members are left out.
type line struct {
	Started   time.Time `json:"started"`
	Operation string    `json:"operation"`
	Outcome   string    `json:"outcome"`
	Elapsed   float64   `json:"response_time"`
	FirstByte float64   `json:"first_byte,omitempty"`
	Connect   float64   `json:"connect,omitempty"`
	Status    string    `json:"status,omitempty"`
	Failure   string    `json:"failure,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Loop      string    `json:"loop,omitempty"`
	Received  int64     `json:"received"`
	SentBytes int64     `json:"sent"`
	URL       string    `json:"url,omitempty"`

	Follows bool            `json:"follows,omitempty"` // it is not the first step of its flow
	Resent  bool            `json:"resent,omitempty"`
	Noted   json.RawMessage `json:"noted,omitempty"`
}

// lineOf returns a row as a line.
func lineOf(r Row) any {
	return line{
		Started: r.Started.UTC(), Operation: r.Operation, Outcome: r.Outcome.String(),
		Elapsed: r.Elapsed.Seconds(), FirstByte: r.FirstByte.Seconds(), Connect: r.Connect.Seconds(),
		Status: r.Status, Failure: r.Failure, Agent: r.Agent, Loop: r.Loop, Received: r.Received,
		SentBytes: r.SentBytes, URL: r.URL,
		Follows: r.Follows, Resent: r.Resent, Noted: r.Noted,
	}
}
