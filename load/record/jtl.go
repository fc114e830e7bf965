package record

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Row is one operation in a list of operations. Agents send rows as gob.
type Row struct {
	Started   time.Time     // intended start
	Elapsed   time.Duration // response time, from the intended start
	FirstByte time.Duration // from the intended start to the first byte of the answer
	Connect   time.Duration // time of connecting; zero: the connection was open
	Operation string
	Status    string // status of the protocol, for example 200
	Message   string // text of the protocol
	Agent     string // the agent that sent it, JMeter's host; empty without agents
	Loop      string // loop and connection, JMeter's thread
	Outcome   Outcome
	Failure   string // why the outcome is not OK
	Received  int64  // bytes
	SentBytes int64
	Active    int // users or connections of the load, JMeter's threads
	URL       string
	Follows   bool   // it is not the first step of its flow
	Resent    bool   // it was sent again, on a new connection
	WarmUp    bool   // it belongs to a warm-up, which the results do not contain
	Noted     []byte // JSON object of values that the step noted
	// Times since the beginning of the load: due time, actual send, and end.
	Intended, Sent, Finished time.Duration
}

// JTLWriter writes rows as CSV with JMeter's default columns (jmeter.save.saveservice), for JMeter's
// report generator. The column elapsed holds our response time, which includes the wait before a late
// send; JMeter leaves that out. With agents there is also the column Hostname, at JMeter's position.
type JTLWriter struct {
	out    *csv.Writer
	row    []string
	agents bool
}

// NewJTLWriter returns a writer that has written the header; agents adds the column Hostname. Flush reports
// its error.
func NewJTLWriter(w io.Writer, agents bool) *JTLWriter {
	j := &JTLWriter{out: csv.NewWriter(w), agents: agents}
	_ = j.write("Hostname", "timeStamp", "elapsed", "label", "responseCode", "responseMessage",
		"threadName", "dataType", "success", "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads",
		"URL", "Latency", "IdleTime", "Connect")
	return j
}

// hostColumn is the number of columns before Hostname.
const hostColumn = 15

// write writes a line, with the host if there are agents.
func (j *JTLWriter) write(host string, columns ...string) error {
	j.row = append(j.row[:0], columns[:hostColumn]...)
	if j.agents {
		j.row = append(j.row, host)
	}
	j.row = append(j.row, columns[hostColumn:]...)
	return j.out.Write(j.row)
}

// Write adds a row.
func (j *JTLWriter) Write(r Row) error {
	active := strconv.Itoa(r.Active)
	return j.write(csvText(r.Agent),
		strconv.FormatInt(r.Started.UnixMilli(), 10), milliseconds(r.Elapsed), csvText(r.Operation),
		csvText(r.Status), csvText(r.Message), csvText(r.Loop), "text", strconv.FormatBool(r.Outcome == OK),
		csvText(r.Failure), strconv.FormatInt(r.Received, 10), strconv.FormatInt(r.SentBytes, 10), active, active,
		csvText(r.URL), milliseconds(r.FirstByte), "0", milliseconds(r.Connect))
}

// Flush writes what is still buffered and returns the first error of any write.
func (j *JTLWriter) Flush() error {
	j.out.Flush()
	if err := j.out.Error(); err != nil {
		return fmt.Errorf("jtl: %w", err)
	}
	return nil
}

// milliseconds returns a time in whole milliseconds, JMeter's unit.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10)
}

// csvText puts an apostrophe before a text that a spreadsheet would take for a formula.
func csvText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
