package traces

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// inBase64 finds the IDs that Tempo writes as protobuf's own JSON does.
func inBase64() *regexp.Regexp {
	return regexp.MustCompile(
		`"(traceId|spanId|parentSpanId)"(\s*:\s*)"([A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{11}=)"`,
	)
}

// readOTLP reads a document of OTLP in JSON (OpenTelemetry protocol 1.x, section "JSON Protobuf Encoding").
func readOTLP(document []byte) ([]Span, error) {
	ids := inBase64()
	document = ids.ReplaceAllFunc(document, func(member []byte) []byte {
		parts := ids.FindSubmatch(member)
		id, err := base64.StdEncoding.DecodeString(string(parts[3]))
		if err != nil {
			return member
		}
		return fmt.Appendf(nil, `"%s"%s"%s"`, parts[1], parts[2], hex.EncodeToString(id))
	})
	read, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(document)
	if err != nil {
		return nil, fmt.Errorf("it is no OTLP: %w", err)
	}
	return fromOTLP(read), nil
}

// fromOTLP returns the spans of an export.
func fromOTLP(export ptrace.Traces) []Span {
	var all []Span
	for _, resource := range export.ResourceSpans().All() {
		unit := attribute(resource.Resource().Attributes(), "service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				all = append(all, ofOTLP(unit, s))
			}
		}
	}
	return all
}

// ofOTLP returns a span of OTLP. The API numbers its kinds as the protocol does.
func ofOTLP(unit string, s ptrace.Span) Span {
	role := trace.SpanKind(s.Kind())
	peer := func(keys ...string) string { return attribute(s.Attributes(), keys...) }
	read := Span{Failed: s.Status().Code() == ptrace.StatusCodeError, Record: spans.Record{
		Trace: trace.TraceID(s.TraceID()), ID: trace.SpanID(s.SpanID()), Parent: trace.SpanID(s.ParentSpanID()),
		Unit: unit, Role: role, Name: named(s.Name(), ""), Kind: kindOf(role, peer),
		Start: int64(s.StartTimestamp()), End: int64(s.EndTimestamp())}}
	if role == trace.SpanKindClient {
		read.Name = named(s.Name(), peerOf(peer))
	}
	return read
}

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
