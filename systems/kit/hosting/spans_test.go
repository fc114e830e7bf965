package hosting_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// TestSpansAreKept: KeepSpans makes a numbered folder for each trial, and nothing without a parent.
func TestSpansAreKept(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(t.TempDir(), "spans")
	tracer := spans.NewProvider(1)
	_, root := spans.Enter(t.Context(), tracer, "POST /orders")
	root.End()
	testset.Must(t, tracer.Write(dir, "shop"))
	for range 2 {
		testset.Must(t, hosting.KeepSpans(to, lab.Variant{Name: "sync, 2 of each"}, lab.Point{Name: "rate=5/s"},
			dir))
	}
	for _, trial := range []string{"001-sync__2_of_each-rate_5_s", "002-sync__2_of_each-rate_5_s"} {
		got, err := spans.Read(filepath.Join(to, trial))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d spans (%v), want 1", trial, len(got), err)
		}
	}
	testset.Must(t, os.RemoveAll(filepath.Join(to, "001-sync__2_of_each-rate_5_s")))
	testset.Must(t, hosting.KeepSpans(to, lab.Variant{Name: "sync, 2 of each"},
		lab.Point{Name: "rate=5/s"}, dir))
	if got, err := spans.Read(filepath.Join(to, "003-sync__2_of_each-rate_5_s")); err != nil || len(got) != 1 {
		t.Errorf("after a folder was removed, the next one has %d spans (%v), want 1", len(got), err)
	}
	if err := hosting.KeepSpans("", lab.Variant{}, lab.Point{}, "/nowhere"); err != nil {
		t.Error(err)
	}
	u, err := hosting.NewUnit("shop", "shop", dir, kit.Settings{Security: kit.Plain}, hosting.Calls{}, nil)
	if err != nil || u.Spans != nil || u.Log != nil {
		t.Errorf("no request is traced or logged, but something makes spans or a log (%v)", err)
	}
}

// TestSpansNameTheCalledComponent, in its own unit and when another unit calls it. A request that is not
// traced has none.
func TestSpansNameTheCalledComponent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	kitchen := unitOf("kitchen", hosting.HTTP, "", nil)
	kitchen.Spans = spans.NewProvider(1)
	here := hosting.Join(kitchen, "oven", func() oven { return hot{} }, offer, call, follow)
	shop := unitOf("shop", hosting.HTTP, listener.Addr().String(), nil)
	there := hosting.Join(shop, "oven", func() oven { return nil }, offer, call, follow)
	serving, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- kitchen.Serve(serving, listener) }()
	bread := &grpc_health_v1.HealthCheckRequest{Service: "bread"}
	ctx, request := spans.Enter(t.Context(), kitchen.Spans, "POST /orders")
	_, failed := here.Check(ctx, bread)
	_, failedThere := there.Check(ctx, bread)
	_, untraced := here.Check(t.Context(), bread)
	request.End()
	stop()
	testset.Must(t, errors.Join(failed, failedThere, untraced, <-ended, shop.Close()))
	dir := t.TempDir()
	testset.Must(t, kitchen.Spans.Write(dir, "kitchen"))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	roles := map[trace.SpanKind]int{}
	for _, r := range all {
		if r.Note(lab.ComponentAttribute) == "oven" && r.Name == "Health/Check" {
			roles[r.Role]++
		}
	}
	want := map[trace.SpanKind]int{trace.SpanKindInternal: 1, trace.SpanKindServer: 1}
	if !maps.Equal(roles, want) {
		t.Errorf("calls of the oven: %v, want %v of %+v", roles, want, all)
	}
}
