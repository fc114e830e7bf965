package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	label "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cleave-lab/cleave/lab"
)

// export returns an export with one trace of one span, with IDs made of a number.
func export(number byte) ptraceotlp.ExportRequest {
	all := ptrace.NewTraces()
	resource := all.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "cart")
	span := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID([16]byte{number})
	span.SetSpanID([8]byte{number})
	span.SetName("GET /cart")
	span.SetStartTimestamp(1e9)
	span.SetEndTimestamp(2e9)
	return ptraceotlp.NewExportRequestFromTraces(all)
}

// listening returns a receiver and its address on loopback.
func listening(t *testing.T) (lab.SpanReceiver, string) {
	t.Helper()
	r := Collector{}.Receive()
	variables, err := r.Listen("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return r, strings.TrimPrefix(variables[0], "OTEL_EXPORTER_OTLP_ENDPOINT=http://")
}

// post sends a body and returns the status and the answer.
func post(t *testing.T, url, kind, encoding string, body []byte) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Content-Encoding", encoding)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSpansAreReceived in every form in which an exporter of OpenTelemetry may send them.
func TestSpansAreReceived(t *testing.T) {
	r, address := listening(t)
	url := "http://" + address + "/v1/traces"
	asJSON, _ := export(1).MarshalJSON()
	asProto, _ := export(2).MarshalProto()
	inGzip, _ := export(3).MarshalProto()
	for kind, body := range map[string][]byte{"application/json": asJSON, "application/x-protobuf": asProto} {
		if status, said := post(t, url, kind, "", body); status != http.StatusOK {
			t.Errorf("%s: %d %s", kind, status, said)
		}
	}
	status, said := post(t, url, "application/x-protobuf", "gzip", packed(t, inGzip))
	if status != http.StatusOK {
		t.Errorf("gzip: %d %s", status, said)
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	large := export(4) // larger than the 4 MiB that gRPC servers accept by default
	large.Traces().ResourceSpans().At(0).Resource().Attributes().PutStr("large", strings.Repeat("x", 5<<20))
	if _, err := ptraceotlp.NewGRPCClient(connection).Export(ctx, large); err != nil {
		t.Errorf("gRPC: %v", err)
	}
	_ = connection.Close()
	status, _ = post(t, "http://"+address+"/v1/metrics", "application/x-protobuf", "", []byte("x"))
	if status != http.StatusOK {
		t.Errorf("metrics, which nobody wants, are refused with %d", status)
	}
	got, err := r.Close(time.Unix(1, 0), time.Unix(1, 0))
	if err != nil || got.Traces != 4 || got.Spans != 4 || got.Operations[0].Traces != 4 {
		t.Errorf("it has %+v, %v, want 4 traces", got, err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it still listens")
	}
}

// unreachable is a listener whose Close reports that nobody could connect.
type unreachable struct{ net.Listener }

func (l unreachable) Close() error {
	return errors.Join(l.Listener.Close(), errors.New("nobody could connect"))
}

// TestWhyNoSpansCameIsReported: the reason is reported, and received spans are summed up in spite of it.
func TestWhyNoSpansCameIsReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := Collector{}.Receive()
	r.Serve(unreachable{listener}, listener.Addr().String())
	asJSON, _ := export(1).MarshalJSON()
	if status, said := post(t, "http://"+listener.Addr().String()+"/v1/traces", "application/json", "",
		asJSON); status != http.StatusOK {
		t.Errorf("%d %s", status, said)
	}
	got, err := r.Close(time.Unix(1, 0), time.Unix(1, 0))
	if err != nil || got.Spans != 1 || got.Wrong == nil || got.Wrong.Error() != "nobody could connect" {
		t.Errorf("it has %+v, %v", got, err)
	}
}

// TestWhatIsNoExportIsRefused, and so is an export that decompresses to more than the limit.
func TestWhatIsNoExportIsRefused(t *testing.T) {
	r, address := listening(t)
	large := make([]byte, maxExport+1)
	for _, c := range []struct {
		encoding string
		body     []byte
		want     string
	}{
		{"gzip", []byte("x"), "the export is no gzip"},
		{"gzip", packed(t, large), "the export has over 16777216"},
		{"", large, "the export has over 16777216"},
		{"", []byte("\x0a\xff"), "the export is no OTLP: unexpected EOF"},
	} {
		status, said := post(t, "http://"+address+"/v1/traces", "application/x-protobuf", c.encoding, c.body)
		if status != http.StatusBadRequest || !strings.Contains(said, c.want) {
			t.Errorf("%q: %d %.100s, want %q", c.encoding, status, said, c.want)
		}
	}
	if got, err := r.Close(time.Unix(1, 0), time.Unix(1, 0)); err != nil || got.Spans != 0 {
		t.Errorf("it has %+v, %v", got, err)
	}
}

// TestTracesOutsideOfTheLoadAreLeftOut. A receiver that never listened reports nothing.
func TestTracesOutsideOfTheLoadAreLeftOut(t *testing.T) {
	r := &receiver{}
	for number := range byte(3) {
		all := export(number).Traces()
		span := all.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		span.SetStartTimestamp(pcommon.Timestamp(number) * 1e9)
		late := all.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
		late.SetTraceID(span.TraceID())
		late.SetSpanID([8]byte{9})
		late.SetParentSpanID(span.SpanID())
		late.SetStartTimestamp(span.StartTimestamp() + 6e8)
		r.keep(all)
	}
	if left := begunBetween(r.spans, 5e8, 1.7e9); len(left) != 2 || left[0].Trace[0] != 1 {
		t.Errorf("these are left: %+v", left)
	}
	if got, err := (Collector{}).Receive().Close(time.Time{}, time.Now()); got != nil || err != nil {
		t.Errorf("without an address it has %+v, %v", got, err)
	}
}

// TestNoMoreIsKeptThanThereIsRoomFor: dropped spans are counted.
func TestNoMoreIsKeptThanThereIsRoomFor(t *testing.T) {
	var r receiver
	r.spans = make([]Span, maxReceived-1)
	for number := range byte(3) {
		r.keep(export(number).Traces())
	}
	if len(r.spans) != maxReceived || r.dropped != 2 {
		t.Errorf("%d spans are kept, %d dropped", len(r.spans), r.dropped)
	}
}

// TestExportsWait while as many exports are decoded as memory permits.
func TestExportsWait(t *testing.T) {
	of, address := listening(t)
	r, _ := of.(*receiver)
	for range maxExports {
		r.reading <- struct{}{}
	}
	status := make(chan int)
	body, _ := export(1).MarshalProto()
	go func() {
		code, _ := post(t, "http://"+address+"/v1/traces", "application/x-protobuf", "", body)
		status <- code
	}()
	select {
	case code := <-status:
		t.Fatalf("it is answered with %d while others are read", code)
	case <-time.After(100 * time.Millisecond):
	}
	<-r.reading
	if code := <-status; code != http.StatusOK {
		t.Errorf("it is answered with %d", code)
	}
	if _, err := r.Close(time.Unix(0, 0), time.Now()); err != nil {
		t.Error(err)
	}
}

// pipes is a listener whose connections are pipes in memory.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	if connection, open := <-p; open {
		return connection, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (p pipes) Close() error { close(p); return nil }

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestWaitingTakesNoTimeFromSending: an export that has waited for its turn has the whole time for its data,
// and one that has waited in vain gets an answer.
func TestWaitingTakesNoTimeFromSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Collector{}.Receive().(*receiver)
		listener := make(pipes)
		r.Serve(listener, "")
		for range maxExports {
			r.reading <- struct{}{}
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				listener <- far
				return near, nil
			}}}
		for _, c := range []struct {
			turn, sent time.Duration // after which it is its turn, and after which all data is sent
			want       int
		}{{exportPatience * 2, exportPatience / 2, http.StatusServiceUnavailable},
			{exportPatience * 9 / 10, exportPatience * 3 / 2, http.StatusOK}} {
			turn := time.AfterFunc(c.turn, func() { <-r.reading })
			body, sending := io.Pipe()
			go func() {
				time.Sleep(c.sent)
				data, _ := export(1).MarshalProto()
				_, _ = sending.Write(data) // the answer tells whether it has come
				_ = sending.Close()
			}()
			answer, err := client.Post("http://receiver/v1/traces", "application/x-protobuf", body)
			if err != nil || answer.StatusCode != c.want {
				t.Errorf("its turn comes after %v, all is sent after %v: %+v (%v)", c.turn, c.sent, answer, err)
			}
			if err == nil {
				_ = answer.Body.Close()
			}
			turn.Stop()
		}
		if _, err := r.Close(time.Unix(0, 0), time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// TestSpansOfKnownTruth: spans of OpenTelemetry's SDK, of services with known times, give these times. A
// front of 100 ms calls two services at once: a cart, which calls prices, and ads, which ends first.
func TestSpansOfKnownTruth(t *testing.T) {
	r, address := listening(t)
	began := time.Now().Truncate(time.Millisecond)
	ctx := context.Background()
	type known struct {
		service    string
		role       trace.SpanKind
		calledBy   string
		start, end time.Duration
	}
	spans := []known{
		{"front", trace.SpanKindServer, "", 0, 100}, {"cart", trace.SpanKindClient, "front", 20, 99},
		{"ads", trace.SpanKindClient, "front", 20, 60}, {"cart", trace.SpanKindServer, "cart", 22, 97},
		{"ads", trace.SpanKindServer, "ads", 21, 58}, {"prices", trace.SpanKindClient, "cart", 62, 97},
		{"prices", trace.SpanKindServer, "prices", 64, 96},
	}
	within := map[string]context.Context{"": ctx} // by service: of its last span, or first of its client's
	for _, s := range spans {
		recorder, parent := s.service, within[s.calledBy]
		if s.role == trace.SpanKindClient {
			recorder = s.calledBy
		}
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(address), otlptracehttp.WithInsecure())
		if err != nil {
			t.Fatal(err)
		}
		provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter),
			sdk.WithResource(resource.NewSchemaless(label.String("service.name", recorder))))
		of, span := provider.Tracer("truth").Start(parent, "op", trace.WithSpanKind(s.role),
			trace.WithTimestamp(began.Add(s.start*time.Millisecond)))
		span.End(trace.WithTimestamp(began.Add(s.end * time.Millisecond)))
		within[s.service] = of
		if err := provider.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Close(began, time.Now())
	if err != nil || got.Traces != 1 || got.Broken+got.Clipped+got.Dropped > 0 {
		t.Fatalf("it has %+v, %v, want one whole trace", got, err)
	}
	want := map[lab.TracePart][2]float64{ // self time and time on the critical path, in milliseconds
		{Service: "front", Operation: "op", Kind: lab.SegmentBusiness}:  {21, 21},
		{Service: "front", Operation: "op", Kind: lab.SegmentTransport}: {4 + 3, 4},
		{Service: "cart", Operation: "op", Kind: lab.SegmentBusiness}:   {40, 40},
		{Service: "cart", Operation: "op", Kind: lab.SegmentTransport}:  {3, 3},
		{Service: "prices", Operation: "op", Kind: lab.SegmentBusiness}: {32, 32},
		{Service: "ads", Operation: "op", Kind: lab.SegmentBusiness}:    {37, 0},
	}
	parts := got.Operations[0].Batches[0].Parts
	for _, part := range parts {
		of := want[part.TracePart]
		if !near(1e3*part.Self, of[0]) || !near(1e3*part.Path, of[1]) {
			t.Errorf("%+v has %v s for itself and %v s on the path, want %v ms", part.TracePart, part.Self,
				part.Path, of)
		}
	}
	if len(parts) != len(want) {
		t.Errorf("it has %d parts, want %d", len(parts), len(want))
	}
}

// TestKeptSpansAreNotOverwritten after a user has removed an earlier folder.
func TestKeptSpansAreNotOverwritten(t *testing.T) {
	folder := t.TempDir()
	kept := filepath.Join(folder, "002-a-spans", "spans.jsonl")
	if err := errors.Join(os.Mkdir(filepath.Dir(kept), 0o700), os.WriteFile(kept, []byte("kept"), 0o600),
		keepIn(folder, "a", Set{})); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
		t.Errorf("the file holds %q (%v), want what was kept", text, err)
	}
}

// TestRunsShareAFolder: trials of several runs that end at the same time keep their spans apart.
func TestRunsShareAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	done := errgroup.Group{}
	const runs = 50
	for range runs {
		done.Go(func() error { return keepIn(folder, "a", Set{}) })
	}
	if err := done.Wait(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadDir(folder); err != nil || len(kept) != runs {
		t.Errorf("%d folders of %d trials, %v", len(kept), runs, err)
	}
}

// TestReceivedSpansAreKept, but only those of the measured load, with their components, in one folder per
// trial. Reading the folder returns what was received.
func TestReceivedSpansAreKept(t *testing.T) {
	folder := t.TempDir()
	export := func(number byte, start int64) ptraceotlp.ExportRequest {
		all := ptrace.NewTraces()
		for i, service := range []string{"front", "cart", "cart"} {
			resource := all.ResourceSpans().AppendEmpty()
			resource.Resource().Attributes().PutStr("service.name", service)
			span := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetTraceID([16]byte{number})
			span.SetSpanID([8]byte{number, byte(i + 1)})
			if i > 0 {
				span.SetParentSpanID([8]byte{number, byte(i)})
			}
			span.SetName("GET")
			span.SetKind(ptrace.SpanKindClient)
			span.Attributes().PutStr("db.system", "mariadb")
			span.Attributes().PutStr("module", "m"+strconv.Itoa(i))
			span.Status().SetCode(ptrace.StatusCodeError)
			span.SetStartTimestamp(pcommon.Timestamp(start + int64(i)))
			span.SetEndTimestamp(pcommon.Timestamp(start + 100 - int64(i)))
		}
		return ptraceotlp.NewExportRequestFromTraces(all)
	}
	for trial, number := range []byte{1, 2} {
		r := Collector{Component: "module", Keep: folder, Name: "followed"}.Receive().(*receiver)
		if _, err := r.Listen("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
		for i, start := range []int64{5, 1000} { // the first trace begins before the load
			if _, err := r.Export(t.Context(), export(10*number+byte(i), start)); err != nil {
				t.Fatal(err)
			}
		}
		want := slices.Clone(r.spans[3:])
		r.dropped = 70 + trial
		if _, err := r.Close(time.Unix(0, 900), time.Unix(0, 2000)); err != nil {
			t.Fatal(err)
		}
		set, err := Read(filepath.Join(folder, fmt.Sprintf("00%d-followed-spans", trial+1)), lab.ComponentAttribute)
		if err != nil || !reflect.DeepEqual(set.Spans, want) || want[2].Component != "m2" ||
			set.Dropped != 70+trial {
			t.Errorf("%+v were kept and %d dropped (%v), want %+v", set.Spans, set.Dropped, err, want)
		}
	}
}
