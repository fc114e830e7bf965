package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// LogWriter writes an HdrHistogram interval log, format 1.3 with V2 payloads: one line per interval,
// operation and outcome, tagged "operation/outcome" (only "operation" for lateness). Lines of one tag are
// merged by adding. Values are in nanoseconds, the maximum of a line in milliseconds, as in other tools.
type LogWriter struct {
	out  *bufio.Writer
	log  *hdrhistogram.HistogramLogWriter
	kind Kind
	base int64 // beginning of the load, milliseconds since 1970
}

// NewLogWriter writes the header of a log for one kind of times. start is the beginning of the load on
// the wall clock; it is written in milliseconds.
func NewLogWriter(w io.Writer, kind Kind, start time.Time) (*LogWriter, error) {
	out := bufio.NewWriter(w)
	l := &LogWriter{out: out, log: hdrhistogram.NewHistogramLogWriter(out), kind: kind, base: start.UnixMilli()}
	l.log.SetBaseTime(l.base)
	seconds := fmt.Sprintf("%d.%03d", l.base/1000, l.base%1000)
	return l, errors.Join(
		l.log.OutputLogFormatVersion(),
		// The library would truncate both times to whole seconds.
		l.log.OutputComment(fmt.Sprintf("[BaseTime: %s (seconds since epoch)]", seconds)),
		l.log.OutputComment(fmt.Sprintf("[StartTime: %s (seconds since epoch), %s]", seconds,
			start.UTC().Format(time.RFC3339Nano))),
		l.log.OutputLegend(),
	)
}

// Write adds the lines of one interval.
func (l *LogWriter) Write(r *Results) error {
	for i, operation := range r.options.Operations {
		if l.kind == Lateness {
			if err := l.line(r, url.PathEscape(operation), r.lateness[i]); err != nil {
				return err
			}
			continue
		}
		for _, o := range Outcomes() {
			if err := l.line(r, tag(operation, o), r.cell(i, o).of(l.kind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush writes what is still buffered. Call it before closing the file.
func (l *LogWriter) Flush() error { return l.out.Flush() }

// tag returns the tag of an operation and an outcome, without commas, spaces and line breaks.
func tag(operation string, o Outcome) string {
	return url.PathEscape(operation) + "/" + o.String()
}

// line writes one histogram, unless it is empty.
func (l *LogWriter) line(r *Results, tag string, h *hdrhistogram.Histogram) error {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	h.SetTag(tag)
	h.SetStartTimeMs(l.base + r.From.Milliseconds())
	h.SetEndTimeMs(l.base + r.To.Milliseconds())
	if err := l.log.OutputIntervalHistogram(h); err != nil {
		return fmt.Errorf("histogram log, interval %v to %v of %s: %w", r.From, r.To, tag, err)
	}
	return nil
}

// WritePercentiles writes the percentile text (.hgrm) that HdrHistogram's plotter reads: values in
// milliseconds, and five steps for each halving of the remaining share.
func WritePercentiles(w io.Writer, h *hdrhistogram.Histogram) error {
	const steps, nanosecondsPerMillisecond = 5, 1e6
	if _, err := h.PercentilesPrint(w, steps, nanosecondsPerMillisecond); err != nil {
		return fmt.Errorf("percentile text: %w", err)
	}
	return nil
}
