package airlineunit

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
)

// TestALoginIsTraced: auth and the customers unit that it asks record one trace, over HTTP and over gRPC.
func TestALoginIsTraced(t *testing.T) {
	for _, overGRPC := range []bool{false, true} {
		tracers := map[string]*spans.Provider{}
		peers, stop, err := hostingtest.Serve([]string{UnitAuth, UnitCustomers},
			func(ctx context.Context, name string, peers map[string]string) (hosting.Served, error) {
				u, err := Open(ctx, Settings{Unit: name, Peers: peers, Folder: t.TempDir(), SessionSeconds: 60,
					Pool: true, GRPC: overGRPC, Data: airline.Data{Customers: 10, Airports: 2, Days: 1, Flights: 1,
						FirstDay: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
					Settings: kit.Settings{Security: kit.Plain, Resilience: kit.Unguarded, Spans: 1}})
				testset.Must(t, err)
				u.LogError = func(err error) { t.Error(err) }
				tracers[name] = u.Spans
				return u, nil
			})
		testset.Must(t, err)
		answer, err := http.Post("http://"+peers[UnitAuth]+"/login", "application/json",
			strings.NewReader(`{"login":"c1","password":"password-1"}`))
		testset.Must(t, err)
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("login: %s, %v", answer.Status, err)
		}
		testset.Must(t, stop())
		if first, _ := hostingtest.OneTrace(t, tracers); first != "POST /login" {
			t.Errorf("the trace begins with %q", first)
		}
	}
}

// TestCallsAreRetried: all of them only read.
func TestCallsAreRetried(t *testing.T) {
	for _, overGRPC := range []bool{false, true} {
		u, err := Open(t.Context(), Settings{Unit: UnitAuth,
			Peers:  map[string]string{UnitCustomers: hostingtest.Nobody(t)},
			Folder: t.TempDir(), SessionSeconds: 60, Pool: true, GRPC: overGRPC,
			Settings: kit.Settings{Security: kit.Plain, Resilience: kit.Retries}})
		testset.Must(t, err)
		u.LogError = func(err error) { t.Error(err) }
		hostingtest.WantAttempts(t, u.Calls.Guards, "check a password", 4, func() error {
			return u.parts.Auth.Credentials.Check(t.Context(), "c1", "password-1")
		})
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}
