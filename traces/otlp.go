package traces

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unique"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// inBase64 finds the IDs that Tempo writes as protobuf's own JSON does.
func inBase64() *regexp.Regexp {
	const base64 = `[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{11}=`
	return regexp.MustCompile(`"(traceId|spanId|parentSpanId)"(\s*:\s*)"(` + base64 + `)"`)
}

// inHex returns a document of Tempo with its IDs as OTLP writes them.
func inHex(document []byte) []byte {
	ids := inBase64()
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
	if err != nil { // it refuses IDs in base64
		read, err = reader.UnmarshalTraces(inHex(document))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("it is no OTLP: %w", err)
	}
	return fromOTLP(read, component), droppedOf(read), nil
}

// droppedOf returns how many spans an export says that its files lack.
func droppedOf(export ptrace.Traces) (all int) {
	for _, resource := range export.ResourceSpans().All() {
		n, err := strconv.Atoi(attribute(resource.Resource().Attributes(), lab.DroppedAttribute))
		if err == nil && n > 0 && n < maxDropped {
			all += n
		}
	}
	return all
}

// fromOTLP returns the spans of an export.
func fromOTLP(export ptrace.Traces, component string) []Span {
	var all []Span
	for _, resource := range export.ResourceSpans().All() {
		unit := shared(attribute(resource.Resource().Attributes(), "service.name"))
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				all = append(all, ofOTLP(unit, s, component))
			}
		}
	}
	return all
}

// ofOTLP returns a span of OTLP. The API numbers its kinds as the protocol does.
func ofOTLP(unit string, s ptrace.Span, component string) Span {
	role := trace.SpanKind(s.Kind())
	named := func(keys ...string) string { return attribute(s.Attributes(), keys...) }
	failed := s.Status().Code() == ptrace.StatusCodeError
	return Span{Failed: failed, Component: shared(named(component)), Record: spans.Record{
		Trace: trace.TraceID(s.TraceID()), ID: trace.SpanID(s.SpanID()), Parent: trace.SpanID(s.ParentSpanID()),
		Unit: unit, Role: role, Name: shared(nameOf(s.Name(), role, peerOf(named))), Kind: kindOf(role, named),
		Start: int64(s.StartTimestamp()), End: int64(s.EndTimestamp())}}
}

// shared returns a text of which all spans share one copy, cut to the length that is kept.
func shared(text string) string { return unique.Make(text[:min(len(text), maxName)]).Value() }

// attribute returns the first of some attributes that is there.
func attribute(of pcommon.Map, keys ...string) string {
	for _, key := range keys {
		if value, is := of.Get(key); is {
			return value.AsString()
		}
	}
	return ""
}

// peerOf returns whom a client calls, by the semantic conventions of OpenTelemetry, old and new.
func peerOf(attribute func(keys ...string) string) string {
	return attribute("peer.service", "server.address", "net.peer.name", "db.system.name", "db.system")
}

// kindOf returns what the self time of a span goes into: what the span says itself, as those of our systems
// do, or what the same conventions say.
func kindOf(role trace.SpanKind, attribute func(keys ...string) string) lab.SegmentKind {
	own := lab.SegmentKind(attribute(lab.SegmentAttribute))
	switch {
	case slices.Contains(lab.SegmentKinds(), own):
		return own
	case role == trace.SpanKindClient && attribute("db.system.name", "db.system") != "":
		return lab.SegmentDatabase
	case role == trace.SpanKindClient:
		return lab.SegmentTransport
	case role == trace.SpanKindProducer:
		return lab.SegmentBroker
	}
	return lab.SegmentBusiness
}
