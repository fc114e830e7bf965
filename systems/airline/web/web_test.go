package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/airline/web"
)

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
