package traces

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
)

// Types of the answer of Jaeger's /api/traces: model/json of Jaeger 1.
type (
	jaegerDocument struct {
		Data []jaegerTrace `json:"data"`
	}
	jaegerTrace struct {
		Spans     []jaegerSpan             `json:"spans"`
		Processes map[string]jaegerProcess `json:"processes"`
	}
	jaegerProcess struct {
		ServiceName string `json:"serviceName"`
	}
	jaegerSpan struct {
		TraceID       string            `json:"traceID"`
		SpanID        string            `json:"spanID"`
		ParentSpanID  string            `json:"parentSpanID"`
		OperationName string            `json:"operationName"`
		References    []jaegerReference `json:"references"`
		StartTime     int64             `json:"startTime"` // microseconds since 1970
		Duration      int64             `json:"duration"`  // microseconds
		Tags          []jaegerTag       `json:"tags"`
		ProcessID     string            `json:"processID"`
		Process       jaegerProcess     `json:"process"`
	}
	jaegerReference struct {
		RefType string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	}
	jaegerTag struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// readJaeger reads an answer of Jaeger's query service.
func readJaeger(document []byte, component string) ([]Span, error) {
	var read jaegerDocument
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, errors.New(`"data" is no list of Jaeger's traces`)
	}
	var all []Span
	for _, t := range read.Data {
		for _, s := range t.Spans {
			service := cmp.Or(t.Processes[s.ProcessID].ServiceName, s.Process.ServiceName)
			span, err := s.span(service, component)
			if err != nil {
				return nil, err
			}
			all = append(all, span)
		}
	}
	return all, nil
}

// span returns a span of Jaeger as a Span. Its parent is the first CHILD_OF reference. Without one it is the
// first reference, whose span does not wait for this one; without references it is ParentSpanID. References
// to spans of other traces do not count.
func (s jaegerSpan) span(service, component string) (Span, error) {
	parent, follows := s.ParentSpanID, false
	own := slices.DeleteFunc(slices.Clone(s.References), func(r jaegerReference) bool {
		return r.TraceID != "" && padded(r.TraceID, 32) != padded(s.TraceID, 32)
	})
	isParent := func(r jaegerReference) bool { return r.RefType == "CHILD_OF" }
	if i := slices.IndexFunc(own, isParent); i >= 0 {
		parent = own[i].SpanID
	} else if len(own) > 0 {
		parent, follows = own[0].SpanID, true
	}
	record, err := recordOf(s.TraceID, s.SpanID, parent)
	if err != nil {
		return Span{}, err
	}
	tag := func(key string) string {
		for _, t := range s.Tags {
			if t.Key == key {
				return fmt.Sprint(t.Value)
			}
		}
		return ""
	}
	record.Start = s.StartTime * 1000
	record.End = (s.StartTime + s.Duration) * 1000
	record.Unit = service
	record.Role = roleNamed(tag("span.kind"))
	span := newSpan(record, s.OperationName, peerOf(tag), component, tag)
	span.Failed = tag("error") == "true" || tag("otel.status_code") == "ERROR"
	span.Follows = follows
	return span, nil
}

// roleNamed returns the role (span kind) of a name in lower or upper case; the default is internal.
func roleNamed(name string) trace.SpanKind {
	switch strings.ToLower(name) {
	case "client":
		return trace.SpanKindClient
	case "server":
		return trace.SpanKindServer
	case "producer":
		return trace.SpanKindProducer
	case "consumer":
		return trace.SpanKindConsumer
	}
	return trace.SpanKindInternal
}

// recordOf returns a record with IDs from hexadecimal digits. Leading zeros may be missing, and so may
// the parent.
func recordOf(traceID, id, parent string) (record spans.Record, err error) {
	record.Trace, err = trace.TraceIDFromHex(padded(traceID, 32))
	if err == nil {
		record.ID, err = trace.SpanIDFromHex(padded(id, 16))
	}
	if err == nil && strings.Trim(parent, "0") != "" {
		record.Parent, err = trace.SpanIDFromHex(padded(parent, 16))
	}
	if err != nil {
		return record, fmt.Errorf("a span with the trace ID %.40q, the ID %.40q and the parent %.40q: %w",
			traceID, id, parent, err)
	}
	return record, nil
}

// padded returns hexadecimal digits in lower case, with leading zeros.
func padded(digits string, width int) string {
	return strings.Repeat("0", max(0, width-len(digits))) + strings.ToLower(digits)
}
