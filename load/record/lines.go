package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// LineWriter writes one JSON object per operation and line. Times are in seconds, sizes in bytes; empty
// members are left out.
type LineWriter struct{ jsonLines }

// NewLineWriter returns a writer of lines to w.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{newJSONLines(w)} }

// line is a Row in JSON.
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

// Write writes a row as a line.
func (l *LineWriter) Write(r Row) error {
	err := l.enc.Encode(line{
		Started: r.Started.UTC(), Operation: r.Operation, Outcome: r.Outcome.String(),
		Elapsed: r.Elapsed.Seconds(), FirstByte: r.FirstByte.Seconds(), Connect: r.Connect.Seconds(),
		Status: r.Status, Failure: r.Failure, Agent: r.Agent, Loop: r.Loop, Received: r.Received,
		SentBytes: r.SentBytes, URL: r.URL,
		Follows: r.Follows, Resent: r.Resent, Noted: r.Noted,
	})
	if err != nil {
		return fmt.Errorf("list of operations: %w", err)
	}
	return nil
}

// jsonLines writes values as lines of JSON.
type jsonLines struct {
	out *bufio.Writer
	enc *json.Encoder
}

func newJSONLines(w io.Writer) jsonLines {
	out := bufio.NewWriter(w)
	return jsonLines{out, json.NewEncoder(out)}
}

// Flush writes what is still buffered.
func (l jsonLines) Flush() error { return l.out.Flush() }
