package spans

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/lab"
)

// Record is a span that has ended.
type Record struct {
	Trace      trace.TraceID
	ID, Parent trace.SpanID // Parent is invalid for the first span of a trace
	Unit       string       // the process
	Role       trace.SpanKind
	Name       string
	Kind       lab.SegmentKind // of the time outside of its children
	Start, End int64           // nanoseconds since 1970, of the host's clock
	Notes      []Note          // its other attributes
}

// Note is an attribute of a span.
type Note struct{ Key, Value string }

// Note returns the value of an attribute; empty if the span has none of this key.
func (r Record) Note(key string) string {
	for _, n := range r.Notes {
		if n.Key == key {
			return n.Value
		}
	}
	return ""
}

// setNote sets an attribute. A list takes less memory than a map, and spans have one or two.
func (r *Record) setNote(key, value string) {
	for i := range r.Notes {
		if r.Notes[i].Key == key {
			r.Notes[i].Value = value
			return
		}
	}
	r.Notes = append(r.Notes, Note{key, value})
}

// The files are lines of OTLP in its JSON form (OpenTelemetry protocol 1.x, File
// Exporter): each line can be sent to a collector as it is.
type (
	otlpLine struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope otlpName   `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpName struct {
		Name string `json:"name"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       trace.SpanKind  `json:"kind"` // the API numbers kinds as OTLP does
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String string `json:"stringValue"`
	}
)

const (
	// service is the attribute that names a process.
	service = "service.name"
	prefix  = "spans-"
	suffix  = ".jsonl"
)

// File returns the file of a unit in a directory.
func File(dir, unit string) string { return filepath.Join(dir, prefix+unit+suffix) }

// Write appends two things to the unit's file in a directory: the kept spans, and the number of spans that
// were dropped since the last call. The provider forgets the spans as soon as the file is open. A restarted
// unit appends to the file of the process before it. Write first removes a last line that is incomplete
// because that process was killed.
func (p *Provider) Write(dir, unit string) (err error) {
	if err := cutIncompleteLine(File(dir, unit)); err != nil {
		return fmt.Errorf("write the spans of %s: %w", unit, err)
	}
	file, err := os.OpenFile(File(dir, unit), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the spans of %s: %w", unit, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p.mu.Lock()
	all, dropped := p.kept, p.counts.Dropped-p.reported
	p.kept = nil
	p.reported = p.counts.Dropped
	p.mu.Unlock()
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	for _, part := range all {
		if err := encoder.Encode(line(unit, part)); err != nil {
			return fmt.Errorf("write the spans of %s: %w", unit, err)
		}
	}
	if dropped > 0 {
		last := line(unit, nil)
		resource := &last.ResourceSpans[0].Resource
		resource.Attributes = append(resource.Attributes,
			otlpAttribute{lab.DroppedAttribute, otlpValue{strconv.FormatInt(dropped, 10)}})
		if err := encoder.Encode(last); err != nil {
			return fmt.Errorf("write the spans of %s: %w", unit, err)
		}
	}
	return out.Flush()
}

// cutIncompleteLine removes the last line of a file if it has no end, because its writer was killed: what
// is appended to it would not be readable. It does nothing if there is no file.
func cutIncompleteLine(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; err == nil && end < len(text) {
		err = os.Truncate(name, int64(end))
	}
	return err
}

// line returns a line of a file: the spans of a unit, with their resource and scope.
func line(unit string, part []Record) otlpLine {
	spans := make([]otlpSpan, len(part))
	for i, r := range part {
		spans[i] = otlpSpan{
			TraceID: r.Trace.String(), SpanID: r.ID.String(), Name: r.Name, Kind: r.Role,
			Start: strconv.FormatInt(r.Start, 10), End: strconv.FormatInt(r.End, 10),
			Attributes: []otlpAttribute{{lab.SegmentAttribute, otlpValue{string(r.Kind)}}},
		}
		for _, n := range r.Notes {
			spans[i].Attributes = append(spans[i].Attributes, otlpAttribute{n.Key, otlpValue{n.Value}})
		}
		if r.Parent.IsValid() {
			spans[i].Parent = r.Parent.String()
		}
	}
	return otlpLine{[]otlpResource{{
		Resource:   otlpAttributes{[]otlpAttribute{{service, otlpValue{unit}}}},
		ScopeSpans: []otlpScope{{otlpName{scope}, spans}},
	}}}
}

// Files lists the files of all units in a directory.
func Files(dir string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), prefix+"*"+suffix)
	if err != nil {
		return nil, fmt.Errorf("look for spans in %s: %w", dir, err)
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names, nil
}

// Read returns the spans in the files of all units in a directory. It ignores a last
// line that is incomplete because its writer was killed.
func Read(dir string) ([]Record, error) {
	names, err := Files(dir)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, name := range names {
		records, err := readFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

func readFile(name string) (records []Record, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for n := 1; ; n++ {
		var l otlpLine
		switch err := decoder.Decode(&l); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return records, nil
		case err != nil:
			return nil, fmt.Errorf("read spans: %s, line %d: %w", name, n, err)
		}
		found, err := l.records()
		if err != nil {
			return nil, fmt.Errorf("read spans: %s, line %d: %w", name, n, err)
		}
		records = append(records, found...)
	}
}

func (l otlpLine) records() (all []Record, err error) {
	for _, r := range l.ResourceSpans {
		unit := ""
		for _, a := range r.Resource.Attributes {
			if a.Key == service {
				unit = a.Value.String
			}
		}
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				record, err := span.record(unit)
				if err != nil {
					return nil, err
				}
				all = append(all, record)
			}
		}
	}
	return all, nil
}

func (s otlpSpan) record(unit string) (Record, error) {
	r := Record{Unit: unit, Role: s.Kind, Name: s.Name}
	var errs [5]error
	r.Trace, errs[0] = trace.TraceIDFromHex(s.TraceID)
	r.ID, errs[1] = trace.SpanIDFromHex(s.SpanID)
	if s.Parent != "" {
		r.Parent, errs[2] = trace.SpanIDFromHex(s.Parent)
	}
	r.Start, errs[3] = strconv.ParseInt(s.Start, 10, 64)
	r.End, errs[4] = strconv.ParseInt(s.End, 10, 64)
	for _, a := range s.Attributes {
		if a.Key == lab.SegmentAttribute {
			r.Kind = lab.SegmentKind(a.Value.String)
			continue
		}
		r.setNote(a.Key, a.Value.String)
	}
	return r, errors.Join(errs[:]...)
}
