//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/traces"
)

// endpointVariable begins the setting of the variable that tells SDKs where to send spans.
const endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT="

// taken is the final report of a receiver of spans.
type taken struct {
	Kept, Dropped int
	Peak          uint64  // peak memory of the process in bytes
	Seconds       float64 // time for the summary
}

// receive runs a receiver of spans until standard input ends. It prints the variable with its address, and at
// the end its report.
func receive(context.Context, []string) error {
	receiver := traces.Collector{}.Receive()
	variables, err := receiver.Listen("127.0.0.1")
	if err != nil {
		return err
	}
	fmt.Println(variables[0])
	_, _ = io.Copy(io.Discard, os.Stdin) // waits for the end of the input
	began := time.Now()
	got, err := receiver.Close(time.Unix(0, 0), time.Now())
	if err != nil {
		return err
	}
	self, err := procfs.Self()
	if err != nil {
		return err
	}
	status, err := self.NewStatus()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(taken{Kept: got.Spans, Dropped: got.Dropped, Peak: status.VmHWM,
		Seconds: time.Since(began).Seconds()})
}

const (
	// exportSize is the number of spans in an export, the largest that SDKs send by default.
	exportSize = 512
	// spanRate is the number of spans that all senders together send per second.
	spanRate = 100_000
)

// sender sends an export.
type sender func(context.Context, ptraceotlp.ExportRequest) error

// playSpans sends a receiver more spans than it keeps, half of them over gRPC.
func playSpans(ctx context.Context, p player, _ uint64, found *tally) error {
	lasts := 12 * time.Second
	if p.quick {
		lasts = 6 * time.Second
	}
	command := exec.CommandContext(ctx, p.server, "receive")
	input, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a receiver: %w", err)
	}
	endpoint, output, err := startAndRead(command)
	if err != nil {
		return err
	}
	defer func() { _ = command.Wait() }() // its report shows whether it worked
	defer func() { _ = input.Close() }()
	url := strings.TrimPrefix(endpoint, endpointVariable)
	connection, err := grpc.NewClient(strings.TrimPrefix(url, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	calls := ptraceotlp.NewGRPCClient(connection)
	overGRPC := func(ctx context.Context, r ptraceotlp.ExportRequest) error {
		_, err := calls.Export(ctx, r)
		return err
	}
	overHTTP := func(ctx context.Context, r ptraceotlp.ExportRequest) error {
		return postExport(ctx, url+"/v1/traces", r)
	}
	sent, took, slowest, err := sendSpans(ctx, lasts, []sender{overGRPC, overHTTP, overGRPC, overHTTP})
	if err != nil {
		return err
	}
	var got taken
	if err := errors.Join(input.Close(), json.NewDecoder(output).Decode(&got)); err != nil {
		return fmt.Errorf("read what a receiver has taken: %w", err)
	}
	found.addSpans(sent, took, slowest, got)
	return nil
}

// sendSpans lets each sender send its share of the rate. It returns the number of spans, the time that all
// took, and the time of the slowest export.
func sendSpans(ctx context.Context, lasts time.Duration, senders []sender) (
	sent int, took, slowest time.Duration, err error,
) {
	each := time.Duration(len(senders)*exportSize) * time.Second / spanRate
	exports := int(lasts / each)
	longest := make([]time.Duration, len(senders))
	began := time.Now()
	var all errgroup.Group
	for i, send := range senders {
		all.Go(func() error {
			for n := range exports {
				export := exportOf(i, n)
				time.Sleep(time.Until(began.Add(time.Duration(n) * each)))
				at := time.Now()
				if err := send(ctx, export); err != nil {
					return fmt.Errorf("export %d of sender %d: %w", n, i, err)
				}
				longest[i] = max(longest[i], time.Since(at))
			}
			return nil
		})
	}
	err = all.Wait()
	for _, one := range longest {
		slowest = max(slowest, one)
	}
	return exports * exportSize * len(senders), time.Since(began), slowest, err
}

// exportOf returns an export of a sender: traces of eight spans with the attributes that instruments of HTTP
// write.
func exportOf(sender, number int) ptraceotlp.ExportRequest {
	const perTrace = 8
	all := ptrace.NewTraces()
	resource := all.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", fmt.Sprint("service-", sender))
	spans := resource.ScopeSpans().AppendEmpty().Spans()
	now := time.Now()
	for i := range exportSize {
		s := spans.AppendEmpty()
		var trace pcommon.TraceID
		binary.BigEndian.PutUint64(trace[:], uint64(sender)<<32|uint64(number))
		binary.BigEndian.PutUint64(trace[8:], uint64(1+i/perTrace))
		s.SetTraceID(trace)
		s.SetSpanID(pcommon.SpanID{7: byte(1 + i%perTrace)})
		if i%perTrace > 0 {
			s.SetParentSpanID(pcommon.SpanID{7: byte(i % perTrace)})
		}
		s.SetName("GET /cart/{customer}/items")
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(now))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(now.Add(time.Millisecond)))
		s.Attributes().PutStr("http.request.method", http.MethodGet)
		s.Attributes().PutStr("http.route", "/cart/{customer}/items")
		s.Attributes().PutStr("url.path", "/cart/4711/items")
		s.Attributes().PutInt("http.response.status_code", http.StatusOK)
	}
	return ptraceotlp.NewExportRequestFromTraces(all)
}

// postExport sends an export over HTTP.
func postExport(ctx context.Context, url string, export ptraceotlp.ExportRequest) error {
	body, err := export.MarshalProto()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(err, errors.New(answer.Status))
	}
	return nil
}

// addSpans compares the report of a receiver with the spans that were sent.
func (t *tally) addSpans(sent int, took, slowest time.Duration, got taken) {
	t.each = append(t.each, single("spans received", "/s", float64(sent)/took.Seconds(), 1, lab.HigherIsBetter,
		figures.Goal{Must: 0.99 * spanRate, Stretch: 0.99 * spanRate},
		fmt.Sprintf("%d kept, %d dropped", got.Kept, got.Dropped)))
	t.add("spans neither kept nor counted as dropped", "1", float64(sent-got.Kept-got.Dropped), 1,
		figures.Goal{}, "")
	t.add("slowest export of 512 spans", "s", slowest.Seconds(), 1, figures.Goal{Must: 1, Stretch: 0.1}, "")
	t.add("memory of the receiver at most", "MB", float64(got.Peak)/1e6, 1,
		figures.Goal{Must: 512, Stretch: 256}, fmt.Sprintf("the sum took %.1f s", got.Seconds))
}
