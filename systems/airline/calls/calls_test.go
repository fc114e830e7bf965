package calls

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/unit"
)

// parts answers by the text of the request: "down" is a part that does not answer, "broken" one that has
// failed, "slow" one that waits for the end of the call.
type parts struct{}

// slowCalled has an entry for every call of "slow".
var slowCalled = make(chan struct{}, 1)

var (
	session = airline.Session{Login: "c1", Expires: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)}
	flight  = airline.Flight{ID: "AMS-ATH-20260101-1", From: "AMS", To: "ATH",
		Departs: time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC), Minutes: 71, Price: 5710}
)

const token = "0123456789abcdef0123456789abcdef"

func (parts) Session(_ context.Context, asked string) (airline.Session, error) {
	if asked != token {
		return airline.Session{}, rpc.Problemf(airline.NoSession, "log in")
	}
	return session, nil
}

func (parts) Check(ctx context.Context, login, password string) error {
	switch login {
	case "slow":
		slowCalled <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	case "down":
		return rpc.Problemf(rpc.Unavailable, "the database does not answer")
	case "broken":
		return errors.New("secret of the inside")
	}
	if password != "right" {
		return rpc.Problemf(airline.WrongCredentials, "it is wrong")
	}
	return nil
}

func (parts) Flight(_ context.Context, id string) (airline.Flight, error) {
	if id != flight.ID {
		return airline.Flight{}, rpc.Problemf(airline.UnknownFlight, "there is none")
	}
	return flight, nil
}

// serve answers calls and HTTP at an address until the returned function is called. logError may be nil.
func serve(t *testing.T, address string, logError func(error)) (at string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	testset.Must(t, err)
	u := unitWith(logError)
	u.Offer(func(server grpc.ServiceRegistrar) {
		OfferAuth(server, parts{})
		OfferCustomers(server, parts{})
		OfferFlights(server, parts{})
	})
	ctx, end := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := u.ServeBeside(ctx, listener, u.Serve, func(ctx context.Context, others net.Listener) error {
			return unit.ServeFront(ctx, others, http.NotFoundHandler(), time.Second)
		}); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), func() {
		end()
		serving.Wait()
	}
}

// unitWith returns a unit whose calls are those of the airline over gRPC.
func unitWith(logError func(error)) *hosting.Unit {
	return &hosting.Unit{LogError: logError,
		Calls: hosting.Calls{Binding: hosting.GRPC, MaxMessage: MaxMessage, ProblemOf: airline.ProblemOf}}
}

// dial returns a client of the unit at an address, which is closed with the test.
func dial(t *testing.T, address string) *Client {
	t.Helper()
	connection, err := unitWith(nil).Calls.NewClient("other", address)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, connection.Close()) })
	return NewClient(connection)
}

func kindOf(err error) rpc.Kind {
	if err == nil {
		return ""
	}
	return airline.ProblemOf(err).Kind
}

func TestUnitsAskEachOther(t *testing.T) {
	var logged []error
	address, stop := serve(t, "127.0.0.1:0", func(err error) { logged = append(logged, err) })
	client := dial(t, address)
	ctx := t.Context()
	if got, err := client.Session(ctx, token); err != nil || got != session {
		t.Errorf("session %+v, %v", got, err)
	}
	if got, err := client.Flight(ctx, flight.ID); err != nil || got != flight {
		t.Errorf("flight %+v, %v", got, err)
	}
	_, noSession := client.Session(ctx, token[1:]+"0")
	_, noToken := client.Session(ctx, "x")
	_, noFlight := client.Flight(ctx, "AMS-ATH-20260101-2")
	gone, giveUp := context.WithCancel(ctx)
	go func() {
		<-slowCalled
		giveUp()
	}()
	for i, c := range []struct {
		err  error
		want rpc.Kind
	}{
		{noSession, airline.NoSession}, {noToken, airline.NoSession}, {noFlight, airline.UnknownFlight},
		{client.Check(ctx, "c1", "right"), ""}, {client.Check(ctx, "c1", "wrong"), airline.WrongCredentials},
		{client.Check(gone, "slow", ""), rpc.Cancelled},
		{client.Check(ctx, "down", ""), rpc.Unavailable}, {client.Check(ctx, "broken", ""), rpc.Internal},
	} {
		if got := kindOf(c.err); got != c.want {
			t.Errorf("case %d: %v, want %q", i, c.err, c.want)
		}
	}
	answer, err := http.Get("http://" + address + "/")
	if err != nil || answer.StatusCode != http.StatusNotFound || answer.Body.Close() != nil {
		t.Errorf("HTTP at the same address: %+v, %v", answer, err)
	}
	stop()
	if len(logged) != 1 {
		t.Errorf("logged %v, want one of what is broken", logged)
	}
}

func TestAUnitThatIsBackIsAskedAgain(t *testing.T) {
	address, stop := serve(t, "127.0.0.1:0", nil)
	client := dial(t, address)
	testset.Must(t, client.Check(t.Context(), "c1", "right"))
	stop()
	if err := client.Check(t.Context(), "c1", "right"); kindOf(err) != rpc.Unavailable {
		t.Errorf("without the other unit: %v", err)
	}
	_, stop = serve(t, address, nil)
	defer stop()
	for begun := time.Now(); client.Check(t.Context(), "c1", "right") != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			t.Fatal("the unit that is back is not found")
		}
	}
}

// TestTheEndDoesNotWaitForSilentConnections: a connection that has sent nothing belongs to neither protocol.
func TestTheEndDoesNotWaitForSilentConnections(t *testing.T) {
	address, stop := serve(t, "127.0.0.1:0", nil)
	silent, err := net.Dial("tcp", address)
	testset.Must(t, err)
	defer func() { _ = silent.Close() }() // the other end may have done so
	stop()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the listener closes when both branches are
		late, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		_ = late.Close()
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the address still listens")
		}
	}
}
