package traces

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
)

// The answer of Jaeger's /api/traces: model/json of Jaeger 1.
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
		SpanID  string `json:"spanID"`
	}
	jaegerTag struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// waits reports whether the span that is referred to waits for this one.
func (r jaegerReference) waits() bool { return r.RefType == "CHILD_OF" }

// readJaeger reads an answer of Jaeger's query service.
func readJaeger(document []byte, component string) ([]Span, error) {
	var read jaegerDocument
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, errors.New(`"data" is no list of Jaeger's traces`)
	}
	var all []Span
	for _, t := range read.Data {
		for _, s := range t.Spans {
			service := t.Processes[s.ProcessID].ServiceName
			if service == "" {
				service = s.Process.ServiceName
			}
			span, err := s.span(service, component)
			if err != nil {
				return nil, err
			}
			all = append(all, span)
		}
	}
	return all, nil
}

// span returns the span in our form.
func (s jaegerSpan) span(service, component string) (Span, error) {
	parent := s.ParentSpanID
	if i := slices.IndexFunc(s.References, jaegerReference.waits); i >= 0 {
		parent = s.References[i].SpanID
	} else if len(s.References) > 0 {
		parent = s.References[0].SpanID
	}
	ids, err := idsOf(s.TraceID, s.SpanID, parent)
	if err != nil {
		return Span{}, err
	}
	tag := func(keys ...string) string {
		for _, key := range keys {
			for _, t := range s.Tags {
				if t.Key == key {
					return fmt.Sprint(t.Value)
				}
			}
		}
		return ""
	}
	ids.Start, ids.End = s.StartTime*1000, (s.StartTime+s.Duration)*1000
	ids.Unit, ids.Role = service, roleNamed(tag("span.kind"))
	ids.Name, ids.Kind = nameOf(s.OperationName, ids.Role, peerOf(tag)), kindOf(ids.Role, tag)
	return Span{Record: ids, Component: tag(component),
		Failed: tag("error") == "true" || tag("otel.status_code") == "ERROR"}, nil
}

// roleNamed returns the role of a span by its name, in any case.
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

// idsOf returns a record with the IDs that hexadecimal digits stand for. Leading zeros may be missing, and so
// may the parent.
func idsOf(traceID, id, parent string) (record spans.Record, err error) {
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

// padded returns hexadecimal digits with zeros before them, in small letters.
func padded(digits string, width int) string {
	return strings.Repeat("0", max(0, width-len(digits))) + strings.ToLower(digits)
}
