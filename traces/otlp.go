package traces

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// withHexIDs returns a document of Tempo with its IDs in hexadecimal, as OTLP requires. Tempo writes them in
// base64, like all bytes in the JSON encoding of protobuf.
func withHexIDs(document []byte) []byte {
	const inBase64 = `[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{11}=`
	ids := regexp.MustCompile(`"(traceId|spanId|parentSpanId)"(\s*:\s*)"(` + inBase64 + `)"`)
	return ids.ReplaceAllFunc(document, func(member []byte) []byte {
		parts := ids.FindSubmatch(member)
		id, err := base64.StdEncoding.DecodeString(string(parts[3]))
		if err != nil {
			return member
		}
		return fmt.Appendf(nil, `"%s"%s"%s"`, parts[1], parts[2], hex.EncodeToString(id))
	})
}

// readOTLP reads a document of OTLP in JSON (OpenTelemetry protocol 1.x, section "JSON Protobuf Encoding"),
// or as Tempo writes it. component is the attribute that names a component.
func readOTLP(document []byte, component string) (all []Span, dropped int, err error) {
	var reader ptrace.JSONUnmarshaler
	read, err := reader.UnmarshalTraces(document)
	if err != nil { // IDs in base64 are an error
		read, err = reader.UnmarshalTraces(withHexIDs(document))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("it is no OTLP: %w", err)
	}
	return spansOf(read, component), droppedOf(read), nil
}

// droppedOf returns the number of dropped spans that an export reports. It ignores impossible numbers.
func droppedOf(export ptrace.Traces) (all int) {
	for _, resource := range export.ResourceSpans().All() {
		reported := attribute(resource.Resource().Attributes(), lab.DroppedAttribute)
		n, err := strconv.Atoi(reported)
		if err == nil && n > 0 && n < maxDropped {
			all += n
		}
	}
	return all
}

// spansOf returns the spans of an export.
func spansOf(export ptrace.Traces, component string) []Span {
	var all []Span
	for _, resource := range export.ResourceSpans().All() {
		service := attribute(resource.Resource().Attributes(), "service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				all = append(all, spanOf(service, s, component))
			}
		}
	}
	return all
}

// spanOf returns a span of OTLP as a Span. The roles (span kinds) have the same numbers in the
// protocol and in the API.
func spanOf(service string, s ptrace.Span, component string) Span {
	own := func(key string) string { return attribute(s.Attributes(), key) }
	span := newSpan(spans.Record{
		Trace: trace.TraceID(s.TraceID()), ID: trace.SpanID(s.SpanID()), Parent: trace.SpanID(s.ParentSpanID()),
		Unit: service, Role: trace.SpanKind(s.Kind()), Start: int64(s.StartTimestamp()),
		End: int64(s.EndTimestamp())}, s.Name(), peerOf(own), component, own)
	span.Failed = s.Status().Code() == ptrace.StatusCodeError
	return span
}

// attribute returns the value of an attribute of a span or a resource, or "".
func attribute(of pcommon.Map, key string) string {
	if value, is := of.Get(key); is {
		return value.AsString()
	}
	return ""
}

// peerAttribute is the attribute of a client's span that names the service which it calls.
const peerAttribute = "peer.service"

// peerOf returns the service that a client calls, by the old and the new semantic conventions of
// OpenTelemetry.
func peerOf(attribute attributes) string {
	for _, key := range []string{peerAttribute, "server.address", "net.peer.name"} {
		if peer := attribute(key); peer != "" {
			return peer
		}
	}
	return databaseOf(attribute)
}

// databaseOf returns the kind of database that a client calls, by the new and the old conventions; "" if it
// calls none.
func databaseOf(attribute attributes) string {
	return cmp.Or(attribute("db.system.name"), attribute("db.system"))
}

// kindOf returns the kind of a span's self time: the kind that the span itself names, as spans of our
// systems do, or else the one that follows from the semantic conventions.
func kindOf(role trace.SpanKind, attribute attributes) lab.SegmentKind {
	own := lab.SegmentKind(attribute(lab.SegmentAttribute))
	switch {
	case slices.Contains(lab.SegmentKinds(), own):
		return own
	case role == trace.SpanKindClient && databaseOf(attribute) != "":
		return lab.SegmentDatabase
	case role == trace.SpanKindClient:
		return lab.SegmentTransport
	case role == trace.SpanKindProducer:
		return lab.SegmentBroker
	}
	return lab.SegmentBusiness
}
