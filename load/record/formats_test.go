package record

import (
	"bytes"
	"encoding/csv"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/cleave-lab/cleave/internal/testset"
)

// smallLoad returns the seconds of a small load, one Results each, with several outcomes.
func smallLoad(t *testing.T) []*Results {
	t.Helper()
	var all []*Results
	for second := range 3 {
		r := NewResults(twoOperations())
		r.From = time.Duration(second) * time.Second
		r.To = time.Duration(second+1) * time.Second
		for i := range 200 {
			due := r.From + time.Duration(i)*5*ms
			r.Add(&Sample{Operation: i % 2, Outcome: Outcome(i / 50), Intended: due,
				Sent: due + time.Duration(i)*time.Microsecond, Finished: due + time.Duration(i+1)*ms})
		}
		all = append(all, r)
	}
	return all
}

func TestLogIsReadBack(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_123)
	load := smallLoad(t)
	for _, kind := range []Kind{Response, Service, Lateness} {
		var text bytes.Buffer
		log, err := NewLogWriter(&text, kind, start)
		testset.Must(t, err)
		total := NewResults(twoOperations())
		for _, r := range load {
			testset.Must(t, errors.Join(log.Write(r), total.Merge(r)))
		}
		testset.Must(t, log.Flush())
		back := make(map[string]*hdrhistogram.Histogram)
		var begins []int64
		for reader := hdrhistogram.NewHistogramLogReader(&text); ; {
			h, err := reader.NextIntervalHistogram()
			testset.Must(t, err)
			if h == nil {
				break
			}
			back[h.Tag()] = merged(back[h.Tag()], h)
			begins = append(begins, h.StartTimeMs()-start.UnixMilli())
			if lasted := h.EndTimeMs() - h.StartTimeMs(); lasted != 1000 {
				t.Errorf("line of %d ms", lasted)
			}
		}
		if begins = slices.Compact(begins); !slices.Equal(begins, []int64{0, 1000, 2000}) {
			t.Errorf("kind %d: lines begin at %v ms", kind, begins)
		}
		checkLogged(t, kind, total, back)
	}
}

// checkLogged compares what a log holds with what was written.
func checkLogged(t *testing.T, kind Kind, total *Results, back map[string]*hdrhistogram.Histogram) {
	t.Helper()
	for i, operation := range total.Operations() {
		for _, o := range Outcomes() {
			want := total.Times(kind, i, o)
			if kind == Lateness && o != OK {
				continue // told apart by operation only
			}
			key := tag(operation, o)
			if kind == Lateness {
				key = url.PathEscape(operation)
			}
			got := back[key]
			if want.TotalCount() == 0 && got == nil {
				continue
			}
			if got == nil || !got.Equals(want) {
				t.Errorf("kind %d, %s, %s: %v came back, want %d times", kind, operation, o, got, want.TotalCount())
			}
		}
	}
}

func TestTheTextOfALog(t *testing.T) {
	var text bytes.Buffer
	log, err := NewLogWriter(&text, Response, time.UnixMilli(1_700_000_000_123))
	testset.Must(t, err)
	testset.Must(t, errors.Join(log.Write(smallLoad(t)[1]), log.Flush()))
	lines := strings.Split(text.String(), "\n")
	want := "#[StartTime: 1700000000.123 (seconds since epoch), 2023-11-14T22:13:20.123Z]"
	if !slices.Contains(lines, want) {
		t.Errorf("no line %q in\n%s", want, strings.Join(lines[:5], "\n"))
	}
	// 100 samples of "GET /a b,c" have the outcomes 0 to 3: eight lines in all.
	// The largest good response time is 49 ms.
	if want := "Tag=GET%20%2Fa%20b%2Cc/ok,1.000000,1.000000,49."; !strings.HasPrefix(lines[4], want) {
		t.Errorf("first line is %q, want %q...", lines[4], want)
	}
	if len(lines) != 4+8+1 {
		t.Errorf("%d lines, want 4 before 8 histograms, and the end", len(lines))
	}
}

func TestPercentileText(t *testing.T) {
	h := newHistogram()
	for i := range 1000 {
		testset.Must(t, h.RecordValue(int64(i+1)*int64(ms)))
	}
	var text bytes.Buffer
	testset.Must(t, WritePercentiles(&text, h))
	first := strings.Join(strings.Fields(strings.SplitN(text.String(), "\n", 2)[0]), " ")
	if first != "Value Percentile TotalCount 1/(1-Percentile)" {
		t.Errorf("first line %q", first)
	}
	for _, want := range []string{"500.", "0.500000", "500", "#[Mean", "#[Max     =     1000."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// writeRows writes a list of operations.
func writeRows(t *testing.T, out interface {
	Write(Row) error
	Flush() error
}, rows ...Row) {
	t.Helper()
	for _, r := range rows {
		testset.Must(t, out.Write(r))
	}
	testset.Must(t, out.Flush())
}

func TestJTL(t *testing.T) {
	var text bytes.Buffer
	out := NewJTLWriter(&text, false)
	rows := []Row{
		{Started: time.UnixMilli(1_700_000_000_001), Elapsed: 12600 * time.Microsecond, FirstByte: 11 * ms,
			Connect: 2 * ms, Operation: "get", Status: "200",
			Message: "OK", Loop: "loop 1", Received: 77, SentBytes: 40, Active: 3, URL: "http://127.0.0.1/"},
		{Started: time.UnixMilli(1_700_000_000_002), Elapsed: time.Second, Operation: "get", Outcome: Failed,
			Failure: "=cmd(), \"quoted\"\nand a second line"},
	}
	writeRows(t, out, rows...)
	got, err := csv.NewReader(&text).ReadAll()
	testset.Must(t, err)
	want := [][]string{
		strings.Split("timeStamp,elapsed,label,responseCode,responseMessage,threadName,"+
			"dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect", ","),
		{"1700000000001", "13", "get", "200", "OK", "loop 1", "text", "true", "", "77", "40", "3", "3",
			"http://127.0.0.1/", "11", "0", "2"},
		{"1700000000002", "1000", "get", "", "", "", "text", "false", "'=cmd(), \"quoted\"\nand a second line", "0",
			"0", "0", "0", "", "0", "0", "0"},
	}
	for i, row := range want {
		if !slices.Equal(got[i], row) {
			t.Errorf("row %d is\n%q, want\n%q", i, got[i], row)
		}
	}
}

func TestLines(t *testing.T) {
	var text bytes.Buffer
	writeRows(t, NewLineWriter(&text),
		Row{Started: time.UnixMilli(1_700_000_000_001), Elapsed: 12500 * time.Microsecond, Operation: "get",
			Status: "200", Received: 77},
		Row{Started: time.UnixMilli(1_700_000_000_002), Elapsed: time.Second, Operation: "get", Outcome: Timeout,
			Failure: "no \"answer\"\n"})
	want := `{"started":"2023-11-14T22:13:20.001Z","operation":"get","outcome":"ok","response_time":0.0125,"status":"200","received":77,"sent":0}
{"started":"2023-11-14T22:13:20.002Z","operation":"get","outcome":"timeout","response_time":1,"failure":"no \"answer\"\n","received":0,"sent":0}
`
	if text.String() != want {
		t.Errorf("lines\n%s\nwant\n%s", text.String(), want)
	}
}

// failingWriter cannot be written to.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWritersReportErrors(t *testing.T) {
	if err := NewJTLWriter(failingWriter{}, false).Flush(); err == nil {
		t.Error("the JTL writer hides an error")
	}
	log, err := NewLogWriter(failingWriter{}, Response, time.UnixMilli(0))
	testset.Must(t, err)
	if err := log.Flush(); err == nil {
		t.Error("the log writer hides an error")
	}
	if err := WritePercentiles(failingWriter{}, newHistogram()); err == nil {
		t.Error("the percentile text hides an error")
	}
}
