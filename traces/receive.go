package traces

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // exporters may compress

	"github.com/cleave-lab/cleave/lab"
)

const (
	// maxExport is the size of the largest accepted export, in bytes, decompressed.
	maxExport = 16 << 20
	// maxReceived is the number of spans that are kept of a trial.
	maxReceived = 500_000
	// maxExports is the number of exports that are decoded at once, to bound memory. The others wait.
	maxExports = 4
	// exportPatience is the longest time that an export waits for its turn. After that, at least as much time
	// is left for its data and for the answer: the server's timeouts are twice as long.
	exportPatience = 10 * time.Second
)

// Collector receives the spans of trials. It implements lab.Tracer.
type Collector struct {
	// Component is the attribute of spans that names a component of a service; empty: there is none.
	Component string
	// Keep is a folder for the spans of all trials, each in a folder whose name contains Name; empty: the
	// spans are only summed up.
	Keep, Name string
}

var _ lab.Tracer = Collector{}

// receiver receives spans over OTLP, by HTTP and gRPC at the same addresses.
type receiver struct {
	Collector
	ptraceotlp.UnimplementedGRPCServer
	http    *http.Server
	serving errgroup.Group
	listens bool
	reading chan struct{} // an element for each export that is being decoded

	mu      sync.Mutex
	spans   []Span
	dropped int
}

// Receive implements lab.Tracer.
func (c Collector) Receive() lab.SpanReceiver {
	r := &receiver{Collector: c, reading: make(chan struct{}, maxExports)}
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(maxExport))
	ptraceotlp.RegisterGRPCServer(calls, r)
	posts := http.NewServeMux()
	posts.HandleFunc("POST /v1/traces", r.post)
	posts.HandleFunc("POST /v1/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxExport)) // metrics and logs are not needed
	})
	// gRPC and HTTP share the port, and the limit of exports that are decoded at once.
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		select {
		case r.reading <- struct{}{}:
			defer func() { <-r.reading }()
		case <-time.After(exportPatience):
			http.Error(w, "too many exports at once", http.StatusServiceUnavailable)
			return
		}
		isGRPC := strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc")
		if request.ProtoMajor == 2 && isGRPC {
			calls.ServeHTTP(w, request)
			return
		}
		posts.ServeHTTP(w, request)
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	r.http = &http.Server{Handler: handler, Protocols: protocols, ReadTimeout: 2 * exportPatience,
		WriteTimeout: 2 * exportPatience} // both begin before the export waits
	return r
}

// Listen implements lab.SpanReceiver.
func (r *receiver) Listen(host string) ([]string, error) {
	listener, err := listen(host)
	if err != nil {
		return nil, fmt.Errorf("receive spans: %w", err)
	}
	return r.Serve(listener, listener.Addr().String()), nil
}

// Serve implements lab.SpanReceiver. It returns the variables for OpenTelemetry's SDKs ("OpenTelemetry
// Protocol Exporter", section "Configuration Options").
func (r *receiver) Serve(listener net.Listener, address string) []string {
	r.listens = true
	r.serving.Go(func() error {
		if err := r.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address,
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}
}

// listen listens on a port outside of the range that the kernel gives to clients.
func listen(host string) (listener net.Listener, err error) {
	const lowest, ports, attempts = 15_000, 17_000, 50
	for range attempts {
		address := net.JoinHostPort(host, strconv.Itoa(lowest+rand.IntN(ports)))
		if listener, err = net.Listen("tcp", address); err == nil {
			return listener, nil
		}
	}
	return nil, err
}

// post handles an export over HTTP.
func (r *receiver) post(w http.ResponseWriter, request *http.Request) {
	export, err := readExport(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.keep(export.Traces())
	answer := ptraceotlp.NewExportResponse()
	encode := ptraceotlp.ExportResponse.MarshalProto
	w.Header().Set("Content-Type", "application/x-protobuf")
	if isJSON(request) {
		encode = ptraceotlp.ExportResponse.MarshalJSON
		w.Header().Set("Content-Type", "application/json")
	}
	text, _ := encode(answer) // cannot fail: the answer is empty
	_, _ = w.Write(text)      // the exporter may be gone
}

// isJSON reports whether an export is JSON; otherwise it is protobuf.
func isJSON(request *http.Request) bool {
	return strings.HasPrefix(request.Header.Get("Content-Type"), "application/json")
}

// readExport decodes the export in a request, which may be compressed. Exports beyond maxExport are an error.
func readExport(request *http.Request) (ptraceotlp.ExportRequest, error) {
	export := ptraceotlp.NewExportRequest()
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(request.Body)
		if err != nil {
			return export, fmt.Errorf("the export is no gzip: %w", err)
		}
		body = unpacked
	}
	text, err := io.ReadAll(io.LimitReader(body, maxExport+1))
	switch {
	case err != nil:
		return export, fmt.Errorf("read the export: %w", err)
	case len(text) > maxExport:
		return export, fmt.Errorf("the export has over %d bytes", maxExport)
	case isJSON(request):
		err = export.UnmarshalJSON(text)
	default:
		err = export.UnmarshalProto(text)
	}
	if err != nil {
		return export, fmt.Errorf("the export is no OTLP: %w", err)
	}
	return export, nil
}

// Export handles an export over gRPC.
func (r *receiver) Export(
	_ context.Context, request ptraceotlp.ExportRequest,
) (ptraceotlp.ExportResponse, error) {
	r.keep(request.Traces())
	return ptraceotlp.NewExportResponse(), nil
}

// keep keeps the spans of an export as long as there is room, and counts the others as dropped.
func (r *receiver) keep(export ptrace.Traces) {
	spans := spansOf(export, r.Component)
	r.mu.Lock()
	defer r.mu.Unlock()
	room := min(len(spans), maxReceived-len(r.spans))
	r.spans = append(r.spans, spans[:room]...)
	r.dropped += len(spans) - room
}

// Close implements lab.SpanReceiver. It returns nil if the receiver has never listened.
func (r *receiver) Close(from, to time.Time) (*lab.ReceivedTraces, error) {
	wrong := errors.Join(r.http.Close(), r.serving.Wait())
	if !r.listens {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var charts chartData
	set := Set{Spans: begunBetween(r.spans, from.UnixNano(), to.UnixNano()), Dropped: r.dropped}
	if r.Keep != "" {
		if err := keepIn(r.Keep, r.Name, set); err != nil {
			return nil, err
		}
	}
	received := lab.ReceivedTraces{TraceSet: summary("", set, 1, charts.add), Wrong: wrong}
	received.Paths = charts.paths()
	received.Traffic = charts.traffic()
	return &received, nil
}

// begunBetween keeps, in place, the spans of the traces whose first span began between two moments. The
// last spans of a warm-up may arrive during the measured load.
func begunBetween(all []Span, from, to int64) []Span {
	began := map[trace.TraceID]int64{}
	for _, s := range all {
		if first, known := began[s.Trace]; !known || s.Start < first {
			began[s.Trace] = s.Start
		}
	}
	return slices.DeleteFunc(all, func(s Span) bool { return began[s.Trace] < from || began[s.Trace] > to })
}
