// Package compressed_test checks exports that are compressed over gRPC. It is apart from the other tests of
// receivers: their exporter registers gRPC's codec for gzip in the whole test program, so that they pass even
// if the receiver does not.
package compressed_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/cleave-lab/cleave/traces"
)

// message returns an export with one span as a compressed message of gRPC: a byte that says so, the length,
// and the data.
func message(t *testing.T) []byte {
	t.Helper()
	all := ptrace.NewTraces()
	span := all.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{1})
	span.SetStartTimestamp(1e9)
	span.SetEndTimestamp(2e9)
	text, err := ptraceotlp.NewExportRequestFromTraces(all).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{1}, uint32(packed.Len())), packed.Bytes()...)
}

// TestAnExportMayBeCompressed sends one without gRPC's client, which would have to register the codec.
func TestAnExportMayBeCompressed(t *testing.T) {
	receiver := traces.Collector{}.Receive()
	variables, err := receiver.Listen("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimPrefix(variables[0], "OTEL_EXPORTER_OTLP_ENDPOINT=") +
		"/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(message(t)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Grpc-Encoding": {"gzip"},
		"Te": {"trailers"}}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{Protocols: protocols}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, answer.Body) // the trailers follow it
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if status := answer.Trailer.Get("Grpc-Status"); status != "0" {
		t.Errorf("it is answered with status %q: %s", status, answer.Trailer.Get("Grpc-Message"))
	}
	got, err := receiver.Close(time.Unix(1, 0), time.Unix(1, 0))
	if err != nil || got.Spans != 1 {
		t.Errorf("it has %+v, %v, want a span", got, err)
	}
}
