package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
)

// TestAFailingUnitWritesFewLines: five per second, each of bounded length, and the number of those left out.
func TestAFailingUnitWritesFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text hostingtest.Output
		log := hosting.NewErrorLog(&text, "kitchen")
		for i := range 1000 {
			log.Error(fmt.Errorf("%d: %w", i, errors.Join(errors.New("the oven"), errors.New("is broken"))))
		}
		time.Sleep(time.Second)
		log.Error(errors.New(strings.Repeat("x", 1<<20)))
		for range 6 {
			log.Error(errors.New("late"))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		var want strings.Builder
		for i := range 5 {
			fmt.Fprintf(&want, "kitchen: %d: the oven is broken\n", i)
		}
		want.WriteString("kitchen: 995 errors were left out of this log\nkitchen: " + strings.Repeat("x", 2000) +
			"\n" + strings.Repeat("kitchen: late\n", 4) + "kitchen: 2 errors were left out of this log\n")
		if text.String() != want.String() {
			t.Errorf("the log is\n%.3000s\nwant\n%.3000s", text.String(), want.String())
		}
	})
}

// failing is an oven that returns the error of a name.
type failing map[string]error

func (f failing) Check(
	_ context.Context, in *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, f[in.GetService()]
}

// TestAUnitLogsTheCauseThatItsCallerDoesNotGet, over every binding: it logs internal failures, but no
// refusals.
func TestAUnitLogsTheCauseThatItsCallerDoesNotGet(t *testing.T) {
	broken := failing{"cake": fmt.Errorf("bake cake: %w", errors.New("the oven is broken")),
		"roll": rpc.Problemf("no-bread", "there is none"), "pie": context.DeadlineExceeded,
		"tart": &rpc.Problem{Kind: rpc.Unavailable, Detail: "cold", Cause: errors.New("no fire")}}
	for _, binding := range []string{hosting.HTTP, hosting.GRPC, hosting.HTTPLean, hosting.GRPCLean} {
		t.Run(binding, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			testset.Must(t, err)
			var causes []string
			kitchen := unitOf("kitchen", binding, "", nil)
			shop := unitOf("shop", binding, listener.Addr().String(), nil)
			kitchen.LogError = func(err error) { causes = append(causes, err.Error()) }
			hosting.Join(kitchen, "oven", func() oven { return broken }, offer, call, follow)
			there := hosting.Join(shop, "oven", func() oven { return hot{} }, offer, call, follow)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- kitchen.Serve(ctx, listener) }()
			for _, name := range []string{"bread", "roll", "pie", "tart", "cake"} {
				_, err := there.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
				if (err == nil) != (name == "bread") || err != nil && strings.Contains(err.Error(), "broken") {
					t.Errorf("%s: %v", name, err)
				}
			}
			stop()
			if err := errors.Join(<-ended, shop.Close(), kitchen.Close()); err != nil {
				t.Error(err)
			}
			if len(causes) != 1 || causes[0] != "/grpc.health.v1.Health/Check: bake cake: the oven is broken" {
				t.Errorf("the kitchen logs %q, want why there is no cake", causes)
			}
		})
	}
}
