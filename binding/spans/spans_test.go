package spans_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// read writes the spans of a provider to a file and returns what it reads back, by name. A first attempt,
// which cannot create the file, must lose none.
func read(t *testing.T, p *spans.Provider) map[string]spans.Record {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "[1]") // a name that must not be taken for a glob pattern
	if p.Write(dir, "unit") == nil {
		t.Error("a folder that does not exist was written to")
	}
	testset.Must(t, errors.Join(os.Mkdir(dir, 0o700), p.Write(dir, "unit")))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	byName := map[string]spans.Record{}
	for _, r := range all {
		if _, twice := byName[r.Name]; twice {
			t.Errorf("two spans %q", r.Name)
		}
		byName[r.Name] = r
	}
	return byName
}

// TestACallIsOneTrace checks the spans of an entry, a call, and the process that serves it.
func TestACallIsOneTrace(t *testing.T) {
	here := spans.NewProvider(1)
	there := spans.NewProvider(0)
	ctx, entry := spans.Enter(t.Context(), here, "POST /orders")
	entry.Note("made", "/orders/7")
	inside, call := spans.Call(ctx, "/a.b.Inventory/Reserve")
	encoding := call.Begin("encode", lab.SegmentEncoding)
	encoding.End()
	header := call.Traceparent()
	if header != spans.Traceparent(inside, "any") || !strings.HasSuffix(header, "-01") || len(header) != 55 {
		t.Fatalf("traceparent %q", header)
	}
	received := time.Now().Add(-time.Second)
	_, served := spans.Serve(t.Context(), there, header, "serve", lab.SegmentBusiness, trace.SpanKindServer,
		received)
	served.End()
	call.End()
	spans.RecordUntilNow(ctx, "over", lab.SegmentDatabase, received)
	entry.End()

	got := read(t, here)
	far := read(t, there)
	root := got["POST /orders"]
	caller := got["Inventory/Reserve"]
	serve := far["serve"]
	for name, c := range map[string]struct {
		r      spans.Record
		parent trace.SpanID
		kind   lab.SegmentKind
		role   trace.SpanKind
	}{
		"entry":  {root, trace.SpanID{}, lab.SegmentBusiness, trace.SpanKindInternal},
		"call":   {caller, root.ID, lab.SegmentTransport, trace.SpanKindClient},
		"encode": {got["encode"], caller.ID, lab.SegmentEncoding, trace.SpanKindInternal},
		"serve":  {serve, caller.ID, lab.SegmentBusiness, trace.SpanKindServer},
		"over":   {got["over"], root.ID, lab.SegmentDatabase, trace.SpanKindInternal},
	} {
		if c.r.Trace != root.Trace || !c.r.ID.IsValid() || c.r.Parent != c.parent || c.r.Kind != c.kind ||
			c.r.Role != c.role || c.r.Unit != "unit" {
			t.Errorf("%s: %+v", name, c.r)
		}
		if c.r.End < c.r.Start || name != "serve" && name != "over" &&
			(c.r.Start < root.Start || c.r.End > root.End) {
			t.Errorf("%s is from %d to %d, the entry from %d to %d", name, c.r.Start, c.r.End, root.Start, root.End)
		}
	}
	if serve.Start != received.UnixNano() || got["over"].Start != received.UnixNano() {
		t.Errorf("began at %d and %d, want %d", serve.Start, got["over"].Start, received.UnixNano())
	}
	if root.Note("made") != "/orders/7" || len(got) != 4 {
		t.Errorf("%d spans, notes %v", len(got), root.Notes)
	}
}

func TestMethod(t *testing.T) {
	for _, full := range []string{"/a.b.Inventory/Reserve", "/Inventory/Reserve"} {
		if got, want := spans.Method(full), "Inventory/Reserve"; got != want {
			t.Errorf("Method(%q) = %q, want %q", full, got, want)
		}
	}
}

// TestUntracedOperationsAreFree: an untraced operation allocates nothing and sends no headers.
func TestUntracedOperationsAreFree(t *testing.T) {
	p := spans.NewProvider(0)
	ctx := t.Context()
	allocated := testing.AllocsPerRun(100, func() {
		inside, entry := spans.Enter(ctx, p, "POST")
		inside, call := spans.Call(inside, "/a.b.C/D")
		part := call.Begin("encode", lab.SegmentEncoding)
		part.End()
		_, served := spans.Serve(inside, p, call.Traceparent(), "serve", lab.SegmentBusiness, trace.SpanKindServer,
			time.Time{})
		spans.RecordUntilNow(inside, "over", lab.SegmentDatabase, time.Time{})
		var batch spans.Batch
		batch.Add("key", served)
		if batch.Join(inside) != ctx || spans.Traceparent(inside, "key") != "" {
			t.Error("the context was changed, or carries a header")
		}
		batch.End()
		call.End()
		entry.SetName("x")
		entry.Note("a", "b")
		entry.End()
	})
	if allocated != 0 || p.Counts() != (spans.Counts{}) {
		t.Errorf("%g allocations, %+v", allocated, p.Counts())
	}
}

// TestServeNeedsASampledHeader: Serve starts no span for headers that are empty, invalid or not
// sampled.
func TestServeNeedsASampledHeader(t *testing.T) {
	p := spans.NewProvider(1)
	for _, header := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0-0-01",
		"what?", "what?,00-0-0-01"} {
		if ctx, part := spans.Serve(t.Context(), p, header, "serve", lab.SegmentBusiness, trace.SpanKindServer,
			time.Time{}); part != nil || ctx != t.Context() {
			t.Errorf("header %q begins a span", header)
		}
	}
	const sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if _, part := spans.Serve(t.Context(), nil, sampled, "serve", lab.SegmentBusiness, trace.SpanKindServer,
		time.Time{}); part != nil {
		t.Error("a server without a provider makes spans")
	}
	if _, part := spans.Serve(t.Context(), p, sampled, "serve", lab.SegmentBusiness, trace.SpanKindServer,
		time.Time{}); part.Traceparent()[:35] != sampled[:35] {
		t.Errorf("goes on as %s", part.Traceparent())
	}
}

func TestTheShareIsKept(t *testing.T) {
	const all = 20_000
	for _, share := range []float64{0, 1.0 / 16, 0.5, 1} {
		p := spans.NewProvider(share)
		sampled := 0.0
		for range all {
			if _, entry := spans.Enter(context.Background(), p, "x"); entry != nil {
				sampled++
			}
		}
		// Five standard deviations of the binomial distribution: 1 test in 1.7 million fails.
		if off := sampled - share*all; off*off > 25*all*share*(1-share) {
			t.Errorf("%g of %d are sampled, want a share of %g", sampled, all, share)
		}
	}
}

// TestABatchWorksForEachOfItsMessages: a span of the batch is recorded in every trace, also in the
// process that serves a shared call, and the key selects the trace of a message.
func TestABatchWorksForEachOfItsMessages(t *testing.T) {
	p := spans.NewProvider(1)
	var batch spans.Batch
	traces := map[string]string{} // the beginning of the traceparent, with the trace ID, by key
	for _, key := range []string{"one", "two"} {
		_, part := spans.Enter(t.Context(), p, "process "+key)
		batch.Add(key, part)
		traces[key] = part.Traceparent()[:35]
	}
	ctx := batch.Join(t.Context())
	spans.RecordUntilNow(ctx, "COMMIT", lab.SegmentDatabase, time.Now())
	inside, call := spans.Call(ctx, "/a.b.C/D")
	spans.RecordUntilNow(inside, "within", lab.SegmentDatabase, time.Now())
	there, served := spans.Serve(t.Context(), p, call.Traceparent(), "serve D", lab.SegmentBusiness,
		trace.SpanKindServer, time.Time{})
	spans.RecordUntilNow(there, "SELECT", lab.SegmentDatabase, time.Now())
	served.End()
	call.End()
	for key, want := range traces {
		if got := spans.Traceparent(ctx, key); !strings.HasPrefix(got, want) {
			t.Errorf("%s goes on as %s, want the trace of %s", key, got, want)
		}
	}
	if got := spans.Traceparent(ctx, "three"); got != "" {
		t.Errorf("a message that is not traced goes on as %s", got)
	}
	batch.End()

	dir := t.TempDir()
	testset.Must(t, p.Write(dir, "unit"))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	seen := map[string]int{}
	for _, r := range all {
		for key, prefix := range traces {
			if strings.Contains(prefix, r.Trace.String()) {
				seen[key+": "+r.Name]++
			}
		}
	}
	for key := range traces {
		for _, name := range []string{"process " + key, "COMMIT", "C/D", "within", "serve D", "SELECT"} {
			if seen[key+": "+name] != 1 {
				t.Errorf("%s has %d spans %s: %v", key, seen[key+": "+name], name, seen)
			}
		}
	}
}

// TestAUnitThatWasKilled: a restarted unit appends to the file, and a line that was cut off is ignored, also
// if the restarted unit has written after it.
func TestAUnitThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	write := func() {
		p := spans.NewProvider(1)
		_, entry := spans.Enter(t.Context(), p, "x")
		entry.End()
		testset.Must(t, p.Write(dir, "shop-1"))
	}
	write()
	write()
	name := filepath.Join(dir, "spans-shop-1.jsonl")
	text, err := os.ReadFile(name)
	testset.Must(t, err)
	for what, c := range map[string]struct {
		text string
		want int
	}{"whole": {string(text), 2}, "cut off": {string(text[:len(text)-40]), 1}} {
		testset.Must(t, os.WriteFile(name, []byte(c.text), 0o600))
		all, err := spans.Read(dir)
		if err != nil || len(all) != c.want {
			t.Errorf("%s: %d spans (%v), want %d", what, len(all), err, c.want)
		}
		write()
		if all, err = spans.Read(dir); err != nil || len(all) != c.want+1 {
			t.Errorf("%s, and one more: %d spans (%v), want %d", what, len(all), err, c.want+1)
		}
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), `"traceId":"`, `"traceId":"x`, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spans.Read(dir); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a trace without a number: %v", err)
	}
}

// FuzzTraceparent: a sampled header continues the caller's trace; any other header starts no span.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("00-00000000000000000000000000000000-b7ad6b7169203331-01")
	f.Add("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-")
	f.Add("")
	p := spans.NewProvider(0)
	f.Fuzz(func(t *testing.T, header string) {
		_, part := spans.Serve(t.Context(), p, header, "serve", lab.SegmentBusiness, trace.SpanKindServer,
			time.Time{})
		callers := strings.Split(header, ",") // a shared call has the traceparents of several operations
		sampled := slices.ContainsFunc(callers, func(c string) bool { return spans.Remote(c).IsSampled() })
		if (part != nil) != sampled {
			t.Fatalf("served is %v, the header says sampled is %v", part != nil, sampled)
		}
		if part != nil && len(callers) == 1 &&
			spans.Remote(part.Traceparent()).TraceID() != spans.Remote(header).TraceID() {
			t.Fatalf("%q goes on as %q", header, part.Traceparent())
		}
	})
}

// FuzzRead: any file is either read, with valid ids, or refused.
func FuzzRead(f *testing.F) {
	const good = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[` +
		`{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"x","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}` + "\n"
	f.Add([]byte(good))
	f.Add([]byte(good + good[:60]))
	f.Add([]byte(strings.Replace(good, `"1"`, `"one"`, 1)))
	f.Add([]byte("[]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		testset.Must(t, os.WriteFile(filepath.Join(dir, "spans-shop.jsonl"), text, 0o600))
		all, err := spans.Read(dir)
		for _, r := range all {
			if !r.Trace.IsValid() || !r.ID.IsValid() {
				t.Fatalf("a span without a number: %+v", r)
			}
		}
		if strings.HasPrefix(string(text), good) && err == nil && len(all) == 0 {
			t.Fatalf("no spans of %q", text)
		}
	})
}

// BenchmarkSpan measures one span of a sampled operation.
func BenchmarkSpan(b *testing.B) {
	p := spans.NewProvider(1)
	ctx, _ := spans.Enter(context.Background(), p, "x")
	b.ReportAllocs()
	for b.Loop() {
		_, call := spans.Call(ctx, "/a.b.C/D")
		call.End()
	}
}

// BenchmarkUntraced measures an operation with a call that is not sampled.
func BenchmarkUntraced(b *testing.B) {
	p := spans.NewProvider(0)
	b.ReportAllocs()
	for b.Loop() {
		ctx, entry := spans.Enter(context.Background(), p, "x")
		_, call := spans.Call(ctx, "/a.b.C/D")
		call.End()
		entry.End()
	}
}
