package stream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

const checkMethod = "grpc.health.v1.Health/Check"

// serveGRPC starts a server of the health service, which knows the services "shop" and "new".
// Calls pass through the interceptor; describe says how the server describes itself.
func serveGRPC(
	t *testing.T, secure *tls.Config, intercept grpc.UnaryServerInterceptor, describe func(*grpc.Server),
) net.Addr {
	t.Helper()
	var options []grpc.ServerOption
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	if intercept != nil {
		options = append(options, grpc.UnaryInterceptor(intercept))
	}
	server := grpc.NewServer(options...)
	service := health.NewServer()
	service.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	service.SetServingStatus("new", grpc_health_v1.HealthCheckResponse_UNKNOWN)
	grpc_health_v1.RegisterHealthServer(server, service)
	describe(server)
	listener := listen(t)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr()
}

func describes(s *grpc.Server) { reflection.Register(s) }
func silently(*grpc.Server)    {}

// newCall returns a load of calls to the health service.
func newCall(t *testing.T, url string, address net.Addr) *rig {
	t.Helper()
	r := newRig(t, GRPC, url, address)
	r.config.Methods = []string{checkMethod}
	*r.step() = scenario.Step{
		Name: "op", GRPC: checkMethod, JSON: map[string]any{"service": "shop"},
		Expect: scenario.Expect{JSON: map[string]string{"status": "SERVING"}},
	}
	return r
}

// protoSet returns the file of descriptors of the health service.
func protoSet(t *testing.T) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto),
	}}
	text, err := proto.Marshal(set)
	testset.Must(t, err)
	return text
}

// TestCallsAreMadeAndJudged plays calls of many kinds. Long because it lists them.
func TestCallsAreMadeAndJudged(t *testing.T) {
	ca := newAuthority(t)
	alpha := func(s *grpc.Server) {
		grpc_reflection_v1alpha.RegisterServerReflectionServer(s,
			reflection.NewServer(reflection.ServerOptions{Services: s}))
	}
	for _, c := range []struct {
		name     string
		secure   bool
		describe func(*grpc.Server)
		file     bool
		change   func(*rig)
		want     record.Outcome
	}{
		{"clear text", false, describes, false, func(*rig) {}, record.OK},
		{"TLS", true, describes, false, func(*rig) {}, record.OK},
		{"older reflection", false, alpha, false, func(*rig) {}, record.OK},
		{"from a file", false, silently, true, func(*rig) {}, record.OK},
		{"no expectation", false, describes, false, func(r *rig) { r.step().Expect = scenario.Expect{} },
			record.OK},
		{"empty message", false, describes, false, func(r *rig) { r.step().JSON = nil }, record.OK},
		{"wrong value", false, describes, false, func(r *rig) {
			r.step().Expect = scenario.Expect{JSON: map[string]string{"status": "NOT_SERVING"}}
		}, record.Failed},
		{"default value", false, describes, false, func(r *rig) {
			r.step().JSON = map[string]any{"service": "new"}
			r.step().Expect = scenario.Expect{JSON: map[string]string{"status": "UNKNOWN"}}
		}, record.OK},
		{"text with its spaces", false, describes, false, func(r *rig) {
			r.step().Expect = scenario.Expect{Body: []string{`{"status":"SERVING"}`}}
		}, record.OK},
		{"unknown service", false, describes, false, func(r *rig) {
			r.step().JSON = map[string]any{"service": "x"}
		}, record.BadStatus},
		{"unknown service, as expected", false, describes, false, func(r *rig) {
			r.step().JSON = map[string]any{"service": "x"}
			r.step().Expect = scenario.Expect{Status: "NOT_FOUND"}
		}, record.OK},
		{"no such field", false, describes, false, func(r *rig) { r.step().JSON = map[string]any{"servant": "x"} },
			record.OtherError},
	} {
		t.Run(c.name, func(t *testing.T) {
			var secure *tls.Config
			url := "http://shop.test:1234"
			if c.secure {
				secure = ca.server("shop.test", soon())
				url = "https://shop.test:1234"
			}
			r := newCall(t, url, serveGRPC(t, secure, nil, c.describe))
			r.config.TLS.RootCAs = ca.pool
			if c.file {
				r.config.ProtoSet = protoSet(t)
			}
			c.change(r)
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{c.want: 20})
			if t.Failed() {
				t.Log(report.Example)
			}
		})
	}
}

func TestHeadersTravelWithCalls(t *testing.T) {
	echo := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
		error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if got := strings.Join(md["x-kind"], " ") + " " +
			strings.Join(md[":authority"], " "); got != "green shop.test:1234" {
			return nil, status.Error(codes.InvalidArgument, got)
		}
		if err := grpc.SetHeader(ctx, metadata.Pairs("x-answer", "good")); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
	ca := newAuthority(t)
	r := newCall(t, "https://shop.test:1234", serveGRPC(t, ca.server("other.test", soon()), echo, describes))
	r.config.TLS.RootCAs = ca.pool
	r.config.TLS.ServerName = "other.test"
	r.step().Headers = map[string]string{"X-Kind": "green"}
	r.step().Expect = scenario.Expect{Header: map[string]string{"X-Answer": "good"}}
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 20})
	if report.Statuses[0] != 20 {
		t.Errorf("statuses %v, want 20 times 0", report.Statuses)
	}
}

// TestMetadataThatEndsInBinHoldsBytes, as gRPC specifies: users write and read base64.
func TestMetadataThatEndsInBinHoldsBytes(t *testing.T) {
	echo := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
		error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if got := strings.Join(md["trace-bin"], ","); got != "\x00\x01\x02\x03" {
			return nil, status.Errorf(codes.InvalidArgument, "%q", got)
		}
		if err := grpc.SetHeader(ctx, metadata.Pairs("back-bin", "\r\n\xff", "short-bin", "\r\n")); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
	for _, text := range []string{"AAECAw==", "AAECAw"} {
		r := newCall(t, "http://shop.test", serveGRPC(t, nil, echo, describes))
		r.step().Headers = map[string]string{"Trace-Bin": text}
		r.step().Expect = scenario.Expect{Header: map[string]string{"back-bin": "DQr/", "short-bin": "DQo="}}
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
	}
	file := scenario.Single(scenario.Step{GRPC: "a.B/C", Headers: map[string]string{"trace-bin": "no base64"}})
	if _, err := file.Compile(""); err == nil || !strings.Contains(err.Error(), `"no base64" is no base64`) {
		t.Errorf("error %v", err)
	}
}

func TestFailedCallsHaveOutcomes(t *testing.T) {
	says := func(code codes.Code) grpc.UnaryServerInterceptor {
		return func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return nil, status.Error(code, "no")
		}
	}
	for _, c := range []struct {
		name      string
		intercept grpc.UnaryServerInterceptor
		want      record.Outcome
	}{
		{"too busy", says(codes.ResourceExhausted), record.Rejected},
		{"not available", says(codes.Unavailable), record.Rejected},
		{"late at the server", says(codes.DeadlineExceeded), record.Timeout},
		{"internal", says(codes.Internal), record.BadStatus},
		{"stalls", func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, record.Timeout},
		{"too large", func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			large := &grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("x", maxMessage)}
			return large, nil
		}, record.TooLarge},
		{"another message", func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return &grpc_health_v1.HealthCheckRequest{Service: "\x08"}, nil // field 1 is no text in the answer
		}, record.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCall(t, "http://shop.test", serveGRPC(t, nil, c.intercept, describes))
			r.config.Timeout = 200 * time.Millisecond
			if c.want != record.Timeout {
				r.config.Timeout = time.Minute
			}
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{c.want: 20})
			if report.Example == "" || t.Failed() {
				t.Errorf("example %q", report.Example)
			}
		})
	}
}

func TestMethodsThatAreMissingAreNamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		methods []string
		file    bool
		want    []string
	}{
		{"service", []string{"shop.Shop/Buy"}, false,
			[]string{`"shop.Shop"`, "grpc.health.v1.Health, grpc.reflection.v1.ServerReflection"}},
		{"method", []string{"grpc.health.v1.Health/Chek"}, false, []string{`"Chek"`, "Check, List, Watch"}},
		{"stream", []string{"grpc.health.v1.Health/Watch"}, false, []string{"unary"}},
		{"no method", []string{"Check"}, false, []string{"package.Service/Method"}},
		{"all", []string{"shop.Shop/Buy", "grpc.health.v1.Health/Chek"}, false, []string{`"shop.Shop"`, `"Chek"`}},
		{"service in a file", []string{"shop.Shop/Buy"}, true,
			[]string{`"shop.Shop"`, "there are: grpc.health.v1.Health"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCall(t, "http://shop.test", serveGRPC(t, nil, nil, describes))
			r.config.Methods = c.methods
			if c.file {
				r.config.ProtoSet = protoSet(t)
			}
			_, _, err := r.try()
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want one with %q", err, part)
				}
			}
		})
	}
}

func TestServersThatDoNotDescribeThemselves(t *testing.T) {
	for _, c := range []struct {
		name    string
		address net.Addr
		file    []byte
		want    string
	}{
		{"no reflection", serveGRPC(t, nil, nil, silently), nil,
			"the server does not describe itself, so nothing is known of grpc.health.v1.Health/Check (gRPC " +
				"reflection was tried, v1 and v1alpha: Unimplemented: unknown service"},
		{"no gRPC", serve(t, nil, hello), nil,
			"what answers there is no gRPC server (it answers with the HTTP status 200 and the type \"text/plain"},
		{"no gRPC, and no such page", serve(t, nil, answering(404)), nil,
			"what answers there is no gRPC server (it answers with the HTTP status 404"},
		{"file that is none", serveGRPC(t, nil, nil, silently), []byte("oops"), "FileDescriptorSet"},
		{"HTTP/1.1 only", serveRaw(t, nil, func(net.Conn, net.Conn) error { return errDone }), nil, "HTTP/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCall(t, "http://shop.test", c.address)
			r.config.ProtoSet = c.file
			r.config.Timeout = 500 * time.Millisecond
			if _, _, err := r.try(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestCallsToWhatIsNoGRPC: the service is described, but what answers does not speak gRPC.
func TestCallsToWhatIsNoGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    record.Outcome
	}{
		"page":  {hello, record.Malformed},
		"busy":  {answering(503), record.Rejected},
		"error": {answering(500), record.BadStatus},
		"reset": {silent, record.Reset},
	} {
		r := newCall(t, "http://shop.test", serve(t, nil, c.handler))
		r.config.ProtoSet = protoSet(t)
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{c.want: 20})
		if t.Failed() {
			t.Fatalf("%s: %s", name, report.Example)
		}
	}
}

func TestTheServerOfCallsGoesAway(t *testing.T) {
	listener := listen(t)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	r := newCall(t, "http://shop.test", listener.Addr())
	r.config.ProtoSet = protoSet(t)
	r.config.Connected = func() error { server.Stop(); return nil }
	results, report := r.run()
	expectGone(t, results, report.Example)
}
