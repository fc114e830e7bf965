package traces

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// formats holds the same trace in each format: the span of a front lasts 10 ms. Its client's span of 6 ms
// calls a cart, whose span of 4 ms fails and asks a database for 1 ms.
var formats = map[string]string{
	"OTLP": `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"front"}}]},
	"scopeSpans":[{"spans":[
	{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","name":"GET /cart","kind":2,
	 "startTimeUnixNano":"1000000000","endTimeUnixNano":"1010000000"},
	{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000002","parentSpanId":"0000000000000001",
	 "name":"GET","kind":3,"startTimeUnixNano":"1002000000","endTimeUnixNano":"1008000000",
	 "attributes":[{"key":"server.address","value":{"stringValue":"cart"}}]}]}]}]}
	{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
	"scopeSpans":[{"spans":[
	{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000003","parentSpanId":"0000000000000002",
	 "name":"cart","kind":2,"startTimeUnixNano":"1003000000","endTimeUnixNano":"1007000000","status":{"code":2}},
	{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000004","parentSpanId":"0000000000000003",
	 "name":"SELECT","kind":3,"startTimeUnixNano":"1004000000","endTimeUnixNano":"1005000000",
	 "attributes":[{"key":"db.system","value":{"stringValue":"mysql"}}]}]}]}]}`,
	"Tempo": `{"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"front"}}]},
	"scopeSpans":[{"spans":[
	{"traceId":"AAECAwQFBgcICQoLDA0ODw==","spanId":"AAAAAAAAAAE=","name":"GET /cart","kind":"SPAN_KIND_SERVER",
	 "startTimeUnixNano":"1000000000","endTimeUnixNano":"1010000000"},
	{"traceId":"AAECAwQFBgcICQoLDA0ODw==","spanId":"AAAAAAAAAAI=","parentSpanId":"AAAAAAAAAAE=",
	 "name":"GET","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":"1002000000","endTimeUnixNano":"1008000000",
	 "attributes":[{"key":"net.peer.name","value":{"stringValue":"cart"}}]}]}]},
	{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeSpans":[{"spans":[
	{"traceId":"AAECAwQFBgcICQoLDA0ODw==","spanId":"AAAAAAAAAAM=","parentSpanId":"AAAAAAAAAAI=",
	 "name":"cart","kind":"SPAN_KIND_SERVER","startTimeUnixNano":"1003000000","endTimeUnixNano":"1007000000",
	 "status":{"code":"STATUS_CODE_ERROR"}},
	{"traceId":"AAECAwQFBgcICQoLDA0ODw==","spanId":"AAAAAAAAAAQ=","parentSpanId":"AAAAAAAAAAM=",
	 "name":"SELECT","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":"1004000000","endTimeUnixNano":"1005000000",
	 "attributes":[{"key":"db.system","value":{"stringValue":"mysql"}}]}]}]}]}`,
	"Jaeger": `{"data":[{"traceID":"102030405060708090a0b0c0d0e0f","processes":{"p1":{"serviceName":"front"},
	"p2":{"serviceName":"cart"}},"spans":[
	{"traceID":"102030405060708090a0b0c0d0e0f","spanID":"1","operationName":"GET /cart","references":[],
	 "startTime":1000000,"duration":10000,"processID":"p1","tags":[{"key":"span.kind","value":"server"}]},
	{"traceID":"102030405060708090a0b0c0d0e0f","spanID":"2","operationName":"GET",
	 "references":[{"refType":"CHILD_OF","spanID":"1"}],"startTime":1002000,"duration":6000,"processID":"p1",
	 "tags":[{"key":"span.kind","value":"client"},{"key":"peer.service","value":"cart"}]},
	{"traceID":"102030405060708090a0b0c0d0e0f","spanID":"3","operationName":"cart",
	 "references":[{"refType":"CHILD_OF","spanID":"2"}],"startTime":1003000,"duration":4000,"processID":"p2",
	 "tags":[{"key":"span.kind","value":"server"},{"key":"error","value":true}]},
	{"traceID":"102030405060708090a0b0c0d0e0f","spanID":"4","operationName":"SELECT",
	 "references":[{"refType":"CHILD_OF","spanID":"3"}],"startTime":1004000,"duration":1000,"processID":"p2",
	 "tags":[{"key":"span.kind","value":"client"},{"key":"db.system","value":"mysql"}]}]}]}`,
	// The client's and the server's half of a call share an ID.
	"Zipkin": `[{"traceId":"000102030405060708090a0b0c0d0e0f","id":"0000000000000001","kind":"SERVER",
	 "name":"GET /cart","timestamp":1000000,"duration":10000,"localEndpoint":{"serviceName":"front"}},
	{"traceId":"000102030405060708090a0b0c0d0e0f","id":"0000000000000002","parentId":"0000000000000001",
	 "kind":"CLIENT","name":"GET","timestamp":1002000,"duration":6000,"localEndpoint":{"serviceName":"front"},
	 "remoteEndpoint":{"serviceName":"cart"}},
	{"traceId":"000102030405060708090a0b0c0d0e0f","id":"0000000000000002","parentId":"0000000000000001",
	 "kind":"SERVER","shared":true,"name":"cart","timestamp":1003000,"duration":4000,
	 "localEndpoint":{"serviceName":"cart"},"tags":{"error":"500"}},
	{"traceId":"000102030405060708090a0b0c0d0e0f","id":"0000000000000004","parentId":"0000000000000002",
	 "kind":"CLIENT","name":"SELECT","timestamp":1004000,"duration":1000,"localEndpoint":{"serviceName":"cart"},
	 "remoteEndpoint":{"serviceName":"mysql"},"tags":{"db.system":"mysql"}}]`,
}

// readText reads a file with a text.
func readText(t *testing.T, text string) (Set, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path, "")
}

func TestFormats(t *testing.T) {
	formats := maps.Clone(formats)
	formats["traces of Zipkin"] = "[" + formats["Zipkin"] + "]" // the answer of /api/v2/traces
	want := map[lab.TracePart]lab.PartCost{
		{Service: "front", Operation: "GET /cart", Kind: lab.SegmentBusiness}: {Calls: 1, Entered: 1, Self: 0.004,
			Waiting: 0.006, Path: 0.004},
		{Service: "front", Operation: "GET to cart", Kind: lab.SegmentTransport}: {Calls: 1, Self: 0.002,
			Waiting: 0.004, Path: 0.002},
		{Service: "cart", Operation: "cart", Kind: lab.SegmentBusiness}: {Calls: 1, Entered: 1, Self: 0.003,
			Waiting: 0.001, Path: 0.003, Errors: 1},
		{Service: "cart", Operation: "SELECT to mysql", Kind: lab.SegmentDatabase}: {Calls: 1, Self: 0.001,
			Path: 0.001},
	}
	wantTraffic := []lab.Traffic{{From: "cart", To: "mysql", What: "statements", PerOperation: 1},
		{From: "front", To: "cart", What: "calls", PerOperation: 1}}
	for name, text := range formats {
		t.Run(name, func(t *testing.T) {
			set, err := readText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			var charts chartData
			sum := summary(name, set, 1, charts.add)
			if sum.Traces != 1 || sum.Broken+sum.Clipped+sum.Duplicates != 0 || len(sum.Operations) != 1 {
				t.Fatalf("it has %+v, want one whole trace", sum)
			}
			batch := sum.Operations[0].Batches[0]
			if !near(batch.Seconds, 0.010) || len(batch.Parts) != len(want) {
				t.Errorf("it takes %v s and has the parts %v", batch.Seconds, batch.Parts)
			}
			for _, is := range batch.Parts {
				part := is.TracePart
				w, known := want[part]
				if !known || !near(is.Self, w.Self) || !near(is.Path, w.Path) || is.Calls != w.Calls ||
					is.Errors != w.Errors || is.Entered != w.Entered || !near(is.Waiting, w.Waiting) {
					t.Errorf("%v costs %+v, want %+v", part, is, w)
				}
			}
			if traffic := charts.traffic(); !slices.Equal(traffic, wantTraffic) {
				t.Errorf("the traffic is %+v, want %+v", traffic, wantTraffic)
			}
			for _, path := range charts.paths() {
				last := path.Segments[len(path.Segments)-1]
				if !near(path.Seconds, 0.010) || !near(last.Start+last.Seconds, 0.010) || path.Sampled != 1 {
					t.Errorf("it has the path %+v", path)
				}
			}
		})
	}
}

// TestRootsOfOneNameAreOneOperation: HTTP libraries call the spans of servers and of clients "GET".
func TestRootsOfOneNameAreOneOperation(t *testing.T) {
	set, err := readText(t, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
	"value":{"stringValue":"front"}}]},"scopeSpans":[{"spans":[
	{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","name":"GET","kind":2,
	 "startTimeUnixNano":"1000000000","endTimeUnixNano":"1010000000"},
	{"traceId":"000102030405060708090a0b0c0d0eff","spanId":"0000000000000002","name":"GET","kind":3,
	 "startTimeUnixNano":"1020000000","endTimeUnixNano":"1030000000"}]}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	sum := Summary("", set, 1)
	if len(sum.Operations) != 1 || sum.Operations[0].Traces != 2 ||
		len(sum.Operations[0].Batches[0].Parts) != 2 {
		t.Errorf("operations %+v, want one of two traces, with a part for each kind", sum.Operations)
	}
}

// TestTextsAreBounded: a span keeps whole characters of a long text, whatever the format.
func TestTextsAreBounded(t *testing.T) {
	long := "x" + strings.Repeat("é", maxName)
	for format, text := range formats {
		set, err := readText(t, strings.NewReplacer("front", long, "GET /cart", long).Replace(text))
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		first := set.Spans[0]
		for _, kept := range []string{first.Unit, first.Name} {
			if len(kept) != maxName-1 || !utf8.ValidString(kept) {
				t.Errorf("%s: %d bytes are kept: %q, want %d", format, len(kept), kept, maxName-1)
			}
		}
	}
}

// TestJaegersReferences: a span waits for its child, but not for a span that follows from it. References to
// other traces do not count.
func TestJaegersReferences(t *testing.T) {
	const second = `[{"refType":"CHILD_OF","spanID":"1"}]`
	for references, want := range map[string]bool{
		second: false,
		`[{"refType":"FOLLOWS_FROM","spanID":"1"}]`:                                     true,
		`[{"refType":"FOLLOWS_FROM","spanID":"3"},{"refType":"CHILD_OF","spanID":"1"}]`: false,
		`[{"refType":"CHILD_OF","traceID":"7","spanID":"5"},` +
			`{"refType":"FOLLOWS_FROM","traceID":"00102030405060708090A0B0C0D0E0F","spanID":"1"}]`: true,
		`[{"refType":"FOLLOWS_FROM","traceID":"7","spanID":"5"}],"parentSpanID":"1"`: false,
	} {
		set, err := readText(t, strings.Replace(formats["Jaeger"], second, references, 1))
		if err != nil {
			t.Fatal(err)
		}
		if s := set.Spans[1]; s.Follows != want || s.Parent != set.Spans[0].ID {
			t.Errorf("%s: the parent is %s, and it follows: %v, want %v", references, s.Parent, s.Follows, want)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestAFolderMayHaveTheNameOfAPattern: its spans are read.
func TestAFolderMayHaveTheNameOfAPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs [1]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spans.json"), []byte(formats["OTLP"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if set, err := Read(dir, ""); err != nil || len(set.Spans) == 0 {
		t.Errorf("Read: %d spans, %v", len(set.Spans), err)
	}
}

// TestWhatIsRefused: the error names what is wrong, and shows no more than a line of the file.
func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "has no spans",
		`{"data":[]}`:               "has no spans",
		`{"spans":[]}`:              `it has none of the members "resourceSpans" (OTLP)`,
		`7`:                         "it is neither an object nor a list",
		`[1,2]`:                     "it is a list, but not of Zipkin's spans",
		`{"data":7}`:                `"data" is no list of Jaeger's traces`,
		`{"data":`:                  "document 1: it is no JSON",
		`{"resourceSpans":7}`:       "it is no OTLP",
		`[{"traceId":"x","id":""}]`: `a span with the trace ID "x", the ID "" and the parent ""`,
	} {
		_, err := readText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for path, want := range map[string]string{
		t.TempDir():   "has no file that ends in .json",
		"/nowhere":    "no such file",
		"/dev/random": "expected a regular file",
	} {
		if _, err := Read(path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// span returns a span of the trace 1. Its IDs are small numbers, its times are in seconds.
func span(id, parent byte, unit string, role trace.SpanKind, start, end int64) Span {
	s := Span{}
	s.Trace = trace.TraceID{1}
	s.ID = trace.SpanID{id}
	s.Parent = trace.SpanID{parent}
	s.Unit = unit
	s.Name = "op"
	s.Role = role
	s.Kind = lab.SegmentBusiness
	s.Start = start * 1e9
	s.End = end * 1e9
	return s
}

func TestTrees(t *testing.T) {
	const in, producer = trace.SpanKindInternal, trace.SpanKindProducer
	follows := span(2, 1, "b", trace.SpanKindClient, 1, 30)
	early := span(2, 1, "b", in, 1, 9)
	root := span(1, 7, "a", in, 0, 10)
	follows.Follows = true
	early.Follows = true
	root.Follows = true
	for name, c := range map[string]struct {
		spans   []Span
		self    map[string]float64 // by unit, in seconds
		path    map[string]float64
		clipped int
	}{
		"two at once": {[]Span{span(1, 0, "a", in, 0, 10), span(2, 1, "b", in, 1, 6), span(3, 1, "c", in, 3, 9)},
			map[string]float64{"a": 2, "b": 5, "c": 6}, map[string]float64{"a": 4, "c": 6}, 0},
		"nobody waits for a message": {
			[]Span{span(1, 0, "a", in, 0, 10), span(2, 1, "b", producer, 8, 30), span(3, 2, "c", in, 9, 29)},
			map[string]float64{"a": 10, "b": 2, "c": 20}, map[string]float64{"a": 10}, 0},
		"nobody waits for a span that follows": {
			[]Span{span(1, 0, "a", in, 0, 10), follows, span(3, 2, "c", in, 2, 29)},
			map[string]float64{"a": 10, "b": 2, "c": 27}, map[string]float64{"a": 10}, 0},
		"nor if it ends first": {[]Span{span(1, 0, "a", in, 0, 10), early},
			map[string]float64{"a": 10, "b": 8}, map[string]float64{"a": 10}, 0},
		"what it follows is not traced": {[]Span{root}, map[string]float64{"a": 10},
			map[string]float64{"a": 10}, 0},
		"clocks differ": {
			[]Span{span(1, 0, "a", in, 10, 20), span(2, 1, "b", in, 8, 15), span(3, 2, "c", in, 9, 16)},
			map[string]float64{"a": 5, "b": 0, "c": 5}, map[string]float64{"a": 5, "c": 5}, 2},
		"its caller is not traced": {[]Span{span(1, 7, "a", in, 0, 10)}, map[string]float64{"a": 10},
			map[string]float64{"a": 10}, 0},
		"after its caller": {[]Span{span(1, 0, "a", in, 0, 10), span(2, 1, "b", in, 12, 15)},
			map[string]float64{"a": 10, "b": 3}, map[string]float64{"a": 10}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(c.spans)
			sum := Summary(name, Set{Spans: c.spans}, 1)
			if sum.Traces != 1 || sum.Clipped != c.clipped {
				t.Fatalf("it has %+v", sum)
			}
			for _, part := range sum.Operations[0].Batches[0].Parts {
				self, path := c.self[part.Service], c.path[part.Service]
				if !near(part.Self, self) || !near(part.Path, path) {
					t.Errorf("%s has %v s for itself and %v s on the path, want %v and %v", part.Service, part.Self,
						part.Path, self, path)
				}
			}
		})
	}
}

// TestOnlyTheClientsHalfOfASharedSpanFollows: the server's half is the child of the client's.
func TestOnlyTheClientsHalfOfASharedSpanFollows(t *testing.T) {
	client := span(2, 1, "a", trace.SpanKindClient, 1, 30)
	server := span(2, 1, "b", trace.SpanKindServer, 2, 29)
	client.Follows = true
	server.Follows = true
	trees, _ := Trees("", Set{Spans: []Span{span(1, 0, "a", trace.SpanKindServer, 0, 10), client, server}})
	half := trees[0].Children[0]
	if !half.Async || len(half.Children) != 1 || half.Children[0].Async || half.Self != 2e9 {
		t.Errorf("%+v, want it to wait for the server's half", half)
	}
}

// TestWorkThatFollowsIsLikeThatOfAMessage: models divide it in the same way.
func TestWorkThatFollowsIsLikeThatOfAMessage(t *testing.T) {
	follows := span(2, 1, "a", trace.SpanKindInternal, 1, 30)
	follows.Follows = true
	trees, _ := Trees("", Set{Spans: []Span{span(1, 0, "a", trace.SpanKindServer, 0, 10), follows}})
	if child := trees[0].Children[0]; !child.Async || !child.Serves {
		t.Errorf("it is asynchronous: %v, serves: %v, want both", child.Async, child.Serves)
	}
}

// TestBrokenTracesDoNotCount, whichever way they are broken.
func TestBrokenTracesDoNotCount(t *testing.T) {
	const in = trace.SpanKindInternal
	for name, spans := range map[string][]Span{
		"a span is missing":    {span(1, 0, "a", in, 0, 10), span(3, 2, "b", in, 2, 3)},
		"two begin it":         {span(1, 0, "a", in, 0, 10), span(2, 0, "b", in, 2, 3)},
		"a circle":             {span(1, 2, "a", in, 0, 10), span(2, 1, "b", in, 2, 3)},
		"a circle aside":       {span(1, 0, "a", in, 0, 10), span(2, 3, "b", in, 2, 3), span(3, 2, "c", in, 2, 3)},
		"its own caller":       {span(1, 1, "a", in, 0, 10)},
		"no end":               {span(1, 0, "a", in, 0, 10), span(2, 1, "b", in, 2, 0)},
		"no time":              {span(1, 0, "a", in, 10, 10)},
		"two that share an ID": {span(1, 0, "a", in, 0, 10), span(1, 1, "b", in, 2, 3)},
	} {
		if sum := Summary(name, Set{Spans: spans}, 1); sum.Traces != 0 || sum.Broken != 1 {
			t.Errorf("%s: %+v", name, sum)
		}
	}
	twice := []Span{span(1, 0, "a", in, 0, 10), span(1, 0, "a", in, 0, 10)}
	if sum := Summary("twice", Set{Spans: twice}, 1); sum.Traces != 1 || sum.Duplicates != 1 {
		t.Errorf("a span that came twice: %+v", sum)
	}
}

// FuzzRead: whatever a file holds, the parts of the path of an operation make its time.
func FuzzRead(f *testing.F) {
	for _, text := range formats {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var set Set
		if set.readFrom(strings.NewReader(string(text))) != nil {
			return
		}
		for _, o := range Summary("fuzz", set, 1).Operations {
			for _, batch := range o.Batches {
				path := 0.0
				for _, cost := range batch.Parts {
					path += cost.Path
				}
				if difference := path - batch.Seconds; difference > 1e-6*batch.Seconds ||
					difference < -1e-6*batch.Seconds {
					t.Fatalf("the path takes %v s of %v s", path, batch.Seconds)
				}
			}
		}
	})
}

// TestPeers: a client's span has a peer only if an attribute names it, and keeps it although a long name is
// cut. The file of a trial has it, too.
func TestPeers(t *testing.T) {
	long := strings.Repeat("x", 2*maxName)
	for _, c := range []struct{ name, peer, want string }{
		{"COPY prices to archive", "", "COPY prices to archive"},
		{"COPY prices to archive", "mysql", "COPY prices to archive to mysql"},
		{long, "mysql", long[:maxName-len(" to mysql")] + " to mysql"},
	} {
		s := newSpan(spans.Record{Role: trace.SpanKindClient, Unit: "shop"}, c.name, c.peer, "",
			func(string) string { return "" })
		if s.Name != c.want || s.Peer != c.peer {
			t.Errorf("%.30q is named %q and has the peer %q", c.name, s.Name, s.Peer)
		}
		if again := spansOf(toOTLP([]Span{s}), lab.ComponentAttribute); !reflect.DeepEqual(again, []Span{s}) {
			t.Errorf("%+v is read after %+v was written", again, s)
		}
		var charts chartData
		charts.add(tree{root: &s, spans: []*Span{&s}}, nil)
		if calls := charts.traffic(); (len(calls) == 1) != (c.peer != "") {
			t.Errorf("%.30q counts as %+v", c.name, calls)
		}
	}
}
