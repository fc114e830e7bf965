package traces

import (
	"encoding/json"
	"errors"
	"slices"
)

// zipkinSpan is a span of Zipkin's API, version 2.
type zipkinSpan struct {
	TraceID        string            `json:"traceId"`
	ID             string            `json:"id"`
	ParentID       string            `json:"parentId"`
	Kind           string            `json:"kind"`
	Name           string            `json:"name"`
	Timestamp      int64             `json:"timestamp"` // microseconds since 1970
	Duration       int64             `json:"duration"`  // microseconds
	LocalEndpoint  zipkinEndpoint    `json:"localEndpoint"`
	RemoteEndpoint zipkinEndpoint    `json:"remoteEndpoint"`
	Tags           map[string]string `json:"tags"`
}

type zipkinEndpoint struct {
	ServiceName string `json:"serviceName"`
}

// readZipkin reads a list of spans, or of traces, which are lists of spans. component is the tag that names
// a component.
func readZipkin(document []byte, component string) ([]Span, error) {
	var listed []zipkinSpan
	if err := json.Unmarshal(document, &listed); err != nil {
		var traces [][]zipkinSpan
		if err := json.Unmarshal(document, &traces); err != nil {
			return nil, errors.New("it is a list, but not of Zipkin's spans")
		}
		listed = slices.Concat(traces...) // replaces the empty spans of the failed attempt
	}
	all := make([]Span, 0, len(listed))
	for _, s := range listed {
		span, err := s.span(component)
		if err != nil {
			return nil, err
		}
		all = append(all, span)
	}
	return all, nil
}

// span returns a span of Zipkin as a Span. A span without a kind is work within a service.
func (s zipkinSpan) span(component string) (Span, error) {
	record, err := recordOf(s.TraceID, s.ID, s.ParentID)
	if err != nil {
		return Span{}, err
	}
	tag := func(key string) string { return s.Tags[key] }
	record.Start = s.Timestamp * 1000
	record.End = (s.Timestamp + s.Duration) * 1000
	record.Unit = s.LocalEndpoint.ServiceName
	record.Role = roleNamed(s.Kind)
	span := newSpan(record, s.Name, s.RemoteEndpoint.ServiceName, component, tag)
	_, span.Failed = s.Tags["error"]
	return span, nil
}
