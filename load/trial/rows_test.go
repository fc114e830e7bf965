package trial

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestURLsOfRowsHaveNoPasswords, nor have the names of operations, by which url finds the step.
func TestURLsOfRowsHaveNoPasswords(t *testing.T) {
	s := specFor(t, "http://127.0.0.1:1")
	const request = "GET /a?from=http://me:geheim@h/"
	s.Scenario.Flows[0].Steps = []scenario.Step{{Name: "named", Request: request}, {Request: request},
		{Name: "to http://me:geheim@h/", Request: request}}
	for i, url := range newRowMaker(prepare(t, s)).urls {
		if want := "http://127.0.0.1:1/a?from=http://me:***@h/"; url != want {
			t.Errorf("operation %d has the URL %s, want %s", i, url, want)
		}
	}
}

// TestRowsOfPagesNameTheStatusOfHTTP, if a proxy answers a call.
func TestRowsOfPagesNameTheStatusOfHTTP(t *testing.T) {
	m := rowMaker{operations: []string{"op"}, urls: []string{"grpc://shop.test/a.B/C"}, grpc: true}
	r := m.row(time.Time{}, 0, &record.Sample{Outcome: record.Rejected, Status: 503})
	if r.Status != "503" || r.Message != "Service Unavailable" {
		t.Errorf("status %q, message %q", r.Status, r.Message)
	}
}

// TestRowsOfGRPCNameTheStatus: the status is that of gRPC, not that of HTTP.
func TestRowsOfGRPCNameTheStatus(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	s := specFor(t, "http://127.0.0.1")
	s.Target = "grpc://" + listener.Addr().String()
	s.Load.Duration = scenario.Duration(100 * time.Millisecond)
	s.Scenario.Flows[0].Steps = []scenario.Step{{Name: "well", GRPC: "grpc.health.v1.Health/Check"},
		{Name: "unknown", GRPC: "grpc.health.v1.Health/Check", Body: `{"service": "nobody"}`}}
	s.Scenario.Flows = append(s.Scenario.Flows, scenario.Flow{Name: "other", Steps: []scenario.Step{{
		Name: "wrong", GRPC: "grpc.health.v1.Health/Check",
		Expect: scenario.Expect{JSON: map[string]string{"status": "NOT_SERVING"}}}}})
	rows := map[string]record.Row{}
	if _, err := prepare(t, s).Play(t.Context(), Hooks{Row: func(r record.Row) error {
		rows[r.Operation] = r
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	for operation, want := range map[string][2]string{"well": {"0", "OK"}, "unknown": {"5", "NotFound"},
		"wrong": {"0", "OK"}} {
		if r := rows[operation]; r.Status != want[0] || r.Message != want[1] {
			t.Errorf("%s: status %q, message %q, want %q", operation, r.Status, r.Message, want)
		}
	}
}
