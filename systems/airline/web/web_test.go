package web_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/airline/web"
)

// failing fails with the error of the context, or with its own.
type failing struct{ err error }

func (f failing) Session(ctx context.Context, _ string) (airline.Session, error) {
	return airline.Session{}, fmt.Errorf("find a session: %w", cmp.Or(ctx.Err(), f.err))
}

// TestWhoHasGoneIsNoFailure: neither a customer who hangs up nor a deadline is logged as a failure of the
// airline.
func TestWhoHasGoneIsNoFailure(t *testing.T) {
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for name, c := range map[string]struct {
		ctx    context.Context
		err    error
		status int
		logged int
	}{
		"a customer who hangs up": {gone, nil, http.StatusServiceUnavailable, 0},
		"a deadline":              {t.Context(), context.DeadlineExceeded, http.StatusServiceUnavailable, 0},
		"a failure":               {t.Context(), errors.New("broken"), http.StatusInternalServerError, 1},
	} {
		logged := 0
		handler := web.NewHandler(web.Parts{Flights: &service.Flights{}, Sessions: failing{c.err},
			LogError: func(error) { logged++ }})
		request := httptest.NewRequestWithContext(c.ctx, http.MethodGet, "/flights", http.NoBody)
		request.Header.Set("Authorization", "Bearer token")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.status || logged != c.logged {
			t.Errorf("%s: %d %s, logged %d times", name, answer.Code, answer.Body, logged)
		}
	}
}

// TestACallThatIsGivenUpSaysSo: it is no failure of the other unit, which its breaker would count.
func TestACallThatIsGivenUpSaysSo(t *testing.T) {
	arrived := make(chan struct{})
	unit := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}))
	defer unit.Close()
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-arrived
		giveUp()
	}()
	client := web.NewClient(unit.Listener.Addr().String(), true, nil, nil)
	defer func() { testset.Must(t, client.Close()) }()
	_, err := client.Flight(ctx, "AMS-ATH-20260101-1")
	if kind := airline.ProblemOf(err).Kind; kind != rpc.Cancelled {
		t.Errorf("%v is %s, want %s", err, kind, rpc.Cancelled)
	}
}

// silent is a unit with sessions that does not answer within the deadline of its connection.
type silent struct{}

func (silent) Session(context.Context, string) (airline.Session, error) {
	return airline.Session{}, &rpc.Problem{Kind: rpc.Unavailable, Detail: "it does not answer",
		Cause: os.ErrDeadlineExceeded}
}

// TestASilentUnitIsUnavailable: the answer is 503. Only a client that sends its request too slowly gets 408.
func TestASilentUnitIsUnavailable(t *testing.T) {
	handler := web.NewHandler(web.Parts{Flights: &service.Flights{}, Sessions: silent{}})
	request := httptest.NewRequest(http.MethodGet, "/flights", http.NoBody)
	request.Header.Set("Authorization", "Bearer token")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", answer.Code, answer.Body)
	}
}
