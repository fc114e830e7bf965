package bindingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
)

// logging: a call's line in the log has its status and trace. Errors inside of the callee are reported to
// logError with their causes; refusals are not.
func logging(t *testing.T, x *fixture) {
	var text bytes.Buffer
	var causes []string
	x.log = requestlog.New(&text, callee)
	x.logError = func(err error) { causes = append(causes, err.Error()) }
	x.shutDown(t)
	x.restart(t)
	provider := spans.NewProvider(1)
	ctx, entry := spans.Enter(within(t), provider, "entry")
	for call, want := range map[string]string{"fail conflict": "conflict", "secret": rpc.Internal,
		strings.Repeat("x", 2*MaxBody): ""} {
		if _, err := x.check(ctx, call); err == nil || !strings.Contains(kind(err), want) {
			t.Errorf("%.20s: %v", call, err)
		}
	}
	entry.End()
	x.shutDown(t) // waits until all lines are written
	if fmt.Sprint(causes) != "[/grpc.health.v1.Health/Check: password 1234 is wrong]" {
		t.Errorf("causes %q, want that of the one failure inside", causes)
	}
	trace := written(t, provider)[0].Trace.String()
	found := map[string]string{}
	for line := range strings.Lines(text.String()) {
		var logged struct {
			Message   string  `json:"msg"`
			Unit      string  `json:"unit"`
			Operation string  `json:"operation"`
			Status    string  `json:"status"`
			Seconds   float64 `json:"duration_seconds"`
			Trace     string  `json:"trace_id"`
		}
		err := json.Unmarshal([]byte(line), &logged)
		if err != nil || logged.Message != "request" || logged.Unit != callee || logged.Seconds <= 0 ||
			logged.Operation != "/grpc.health.v1.Health/Check" {
			t.Errorf("%v: %s", err, line)
		}
		found[logged.Status] = logged.Trace
	}
	// Some bindings refuse a long message before they know its operation, and write no line for it.
	delete(found, rpc.InvalidArgument)
	if want := map[string]string{"ok": "", "conflict": trace, rpc.Internal: trace}; fmt.Sprint(found) !=
		fmt.Sprint(want) {
		t.Errorf("lines of %v, want %v", found, want)
	}
}

// panics: a method that panics is an internal problem of that call alone, with a request log and without one.
// The log has its line, and logError gets the stack; the caller gets no text of the panic.
func panics(t *testing.T, x *fixture) {
	var text bytes.Buffer
	var causes []string
	x.logError = func(err error) { causes = append(causes, err.Error()) }
	for _, x.log = range []*requestlog.Log{nil, requestlog.New(&text, callee)} {
		causes = nil
		x.shutDown(t)
		x.restart(t)
		_, err := x.check(within(t), "panic")
		if kind(err) != rpc.Internal || strings.Contains(err.Error(), "1234") {
			t.Errorf("%v, want %s without the password", err, rpc.Internal)
		}
		x.answers(t, "after")
		x.shutDown(t) // waits until all lines are written
		if len(causes) != 1 || !strings.Contains(causes[0], "1234") || !strings.Contains(causes[0], ".Check(") {
			t.Errorf("causes %q, want one with the panic and its stack", causes)
		}
	}
	if n := strings.Count(text.String(), `"status":"`+rpc.Internal+`"`); n != 1 {
		t.Errorf("%d lines of an internal problem, want 1: %s", n, text.String())
	}
}

// unencodable: an answer that cannot be encoded is an internal problem of the callee, reported with its
// cause. A request that cannot be encoded is an internal problem too, and does not count as an unavailable
// callee.
func unencodable(t *testing.T, x *fixture) {
	var causes []string
	x.service.listed = "\xff" // invalid UTF-8, which Protocol Buffers refuse to encode
	x.logError = func(err error) { causes = append(causes, err.Error()) }
	x.shutDown(t)
	x.restart(t)
	if _, err := x.client.List(within(t), &grpc_health_v1.HealthListRequest{}); kind(err) != rpc.Internal {
		t.Errorf("%v, want the problem %s", err, rpc.Internal)
	}
	if _, err := x.check(within(t), "\xff"); kind(err) != rpc.Internal {
		t.Errorf("a request that cannot be encoded: %v, want the problem %s", err, rpc.Internal)
	}
	x.shutDown(t)
	if len(causes) != 1 || !strings.Contains(causes[0], "encode *grpc_health_v1.HealthListResponse: ") {
		t.Errorf("causes %q, want why the answer cannot be encoded", causes)
	}
}
