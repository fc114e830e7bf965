package traces

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/cleave-lab/cleave/lab"
)

// spansPerLine is the highest number of spans in a line of a file.
const spansPerLine = 1000

// spansSuffix ends the name of a folder with the spans of a trial.
const spansSuffix = "-spans"

// keepIn writes the spans of a trial as lines of OTLP in JSON, into a new folder below a given one. The name
// of the new folder begins with a number above those of all earlier trials.
func keepIn(folder, name string, set Set) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep spans: %w", err)
	}
	last := 0 // not the number of folders: some may have been removed
	for _, entry := range entries {
		digits, _, _ := strings.Cut(entry.Name(), "-")
		if number, err := strconv.Atoi(digits); err == nil && strings.HasSuffix(entry.Name(), spansSuffix) {
			last = max(last, number)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	dir := ""
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // another run may keep spans here, too
		last++
		dir = filepath.Join(folder, fmt.Sprintf("%03d-%s", last, name+spansSuffix))
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "spans.jsonl"))
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	out := bufio.NewWriter(file)
	write := func(export ptrace.Traces) {
		text, encodeErr := new(ptrace.JSONMarshaler).MarshalTraces(export)
		_, writeErr := out.Write(append(text, '\n'))
		err = errors.Join(err, encodeErr, writeErr)
	}
	for some := range slices.Chunk(set.Spans, spansPerLine) {
		write(toOTLP(some))
	}
	if set.Dropped > 0 { // a line without spans, whose attribute Read adds to Set.Dropped
		dropped := ptrace.NewTraces()
		resource := dropped.ResourceSpans().AppendEmpty().Resource()
		resource.Attributes().PutStr(lab.DroppedAttribute, strconv.Itoa(set.Dropped))
		write(dropped)
	}
	if err = errors.Join(err, out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	return nil
}

// toOTLP returns spans as an export. Read returns the same spans from it, with lab.ComponentAttribute as the
// attribute of components. Follows is lost, but no received span has it.
func toOTLP(all []Span) ptrace.Traces {
	export := ptrace.NewTraces()
	var scope ptrace.ScopeSpans
	unit := ""
	for i, s := range all {
		if i == 0 || s.Unit != unit {
			unit = s.Unit
			resource := export.ResourceSpans().AppendEmpty()
			resource.Resource().Attributes().PutStr("service.name", unit)
			scope = resource.ScopeSpans().AppendEmpty()
		}
		to := scope.Spans().AppendEmpty()
		to.SetTraceID(pcommon.TraceID(s.Trace))
		to.SetSpanID(pcommon.SpanID(s.ID))
		to.SetParentSpanID(pcommon.SpanID(s.Parent))
		to.SetName(s.Name)
		to.SetKind(ptrace.SpanKind(s.Role))
		to.SetStartTimestamp(pcommon.Timestamp(s.Start))
		to.SetEndTimestamp(pcommon.Timestamp(s.End))
		to.Attributes().PutStr(lab.SegmentAttribute, string(s.Kind))
		if s.Component != "" {
			to.Attributes().PutStr(lab.ComponentAttribute, s.Component)
		}
		if s.Peer != "" {
			to.SetName(strings.TrimSuffix(s.Name, " to "+s.Peer)) // Read adds it again
			to.Attributes().PutStr(peerAttribute, s.Peer)
		}
		if s.Failed {
			to.Status().SetCode(ptrace.StatusCodeError)
		}
	}
	return export
}
