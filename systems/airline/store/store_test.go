package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/airline"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// eachStore runs a test on every kind of store. again closes the store and opens it anew.
func eachStore(t *testing.T, run func(t *testing.T, s Store, again func() Store)) {
	t.Run("embedded", func(t *testing.T) {
		folder := t.TempDir() + "/data"
		onStore(t, func() (Store, error) { return OpenEmbedded(folder) }, run)
	})
	t.Run("mongodb", func(t *testing.T) {
		instance := servers.Shared(t, server.Mongo, server.Settings{})
		open := func() (Store, error) { return OpenMongo(context.Background(), instance.URL()) }
		onStore(t, open, func(t *testing.T, s Store, again func() Store) {
			t.Cleanup(func() { // the next test has the server, too
				if err := again().(*mongoStore).db.Drop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			run(t, s, again)
		})
	})
}

func onStore(t *testing.T, open func() (Store, error), run func(t *testing.T, s Store, again func() Store)) {
	t.Helper()
	s, err := open()
	testset.Must(t, err)
	t.Cleanup(func() {
		if s == nil { // it could not be opened again
			return
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	run(t, s, func() Store {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s, err = open()
		testset.Must(t, err)
		return s
	})
}

// some returns a small airline.
func some() airline.Data {
	return airline.Data{Customers: 1500, Airports: 3, Days: 2, Flights: 11,
		FirstDay: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func TestStoresLoadOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store, again func() Store) {
		testset.Must(t, s.Load(t.Context(), some(), true, true))
		if _, err := s.SetContact(t.Context(), "c1499",
			airline.Contact{Phone: "1", Address: airline.Address{Street: "s"}}); err != nil {
			t.Fatal(err)
		}
		s = again()
		testset.Must(t, s.Load(t.Context(), some(), true, true))
		account, known, err := s.Account(t.Context(), "c1499")
		if err != nil || !known || account.Customer.Phone != "1" || account.Customer.Address.Street != "s" ||
			account.Customer.LastName != "Last 1499" ||
			account.Password != airline.PasswordHash("c1499", "password-1499") {
			t.Errorf("after the second load: %+v %v %v", account, known, err)
		}
		flights, err := s.Flights(t.Context(), "ATL", "AMS", "20260102")
		var want []airline.Flight
		for f := range some().AllFlights() {
			if strings.HasPrefix(f.ID, "ATL-AMS-20260102-") {
				want = append(want, f)
			}
		}
		if err != nil || len(want) != 11 || !slices.Equal(flights, want) {
			t.Errorf("flights %+v, want %+v: %v", flights, want, err)
		}
		for code, want := range map[string]bool{"AMS": true, "ATL": true, "BKK": false, "": false} {
			if known, err := s.HasAirport(t.Context(), code); err != nil || known != want {
				t.Errorf("airport %q: %v %v", code, known, err)
			}
		}
	})
}

func TestStoresLoadTheirPart(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store, _ func() Store) {
		testset.Must(t, s.Load(t.Context(), some(), false, true))
		_, customer, errCustomer := s.Account(t.Context(), "c0")
		_, flight, errFlight := s.Flight(t.Context(), "AMS-ATH-20260101-1")
		if err := errors.Join(errCustomer, errFlight); err != nil || customer || !flight {
			t.Errorf("customer: %v, flight: %v, %v", customer, flight, err)
		}
	})
}

func TestSessionsAreKeptAndEnd(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store, again func() Store) {
		session := airline.Session{Login: "c1", Expires: time.Now().UTC().Truncate(time.Millisecond)}
		testset.Must(t, s.AddSession(t.Context(), "token", session))
		s = again()
		if found, known, err := s.Session(t.Context(), "token"); err != nil || !known || found != session {
			t.Errorf("%+v %v %v, want %+v", found, known, err, session)
		}
		testset.Must(t, s.EndSession(t.Context(), "token"))
		if _, known, err := s.Session(t.Context(), "token"); err != nil || known {
			t.Errorf("ended: %v %v", known, err)
		}
	})
}

func TestExpiredSessionsAreSwept(t *testing.T) {
	s, err := OpenEmbedded(t.TempDir())
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, s.Close()) })
	add := func(kind string, count int, expires time.Time) {
		for i := range count {
			testset.Must(t, s.AddSession(t.Context(), fmt.Sprintf("%s %d", kind, i),
				airline.Session{Login: "c1", Expires: expires}))
		}
	}
	now := time.Now()
	add("living", 10, now.Add(time.Hour))
	add("expired", 9, now.Add(-time.Second))
	add("new", 1, now.Add(time.Minute)) // fewer expired sessions are left than one sweep removes
	for kind, count := range map[string]int{"living": 10, "new": 1, "expired": 9} {
		for i := range count {
			_, known, err := s.Session(t.Context(), fmt.Sprintf("%s %d", kind, i))
			if want := kind != "expired"; err != nil || known != want {
				t.Errorf("session %q %d: %v %v, want %v", kind, i, known, err, want)
			}
		}
	}
}

func TestServersSweepSessions(t *testing.T) {
	instance := servers.Shared(t, server.Mongo, server.Settings{})
	s, err := OpenMongo(t.Context(), instance.URL())
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, s.Close()) })
	indices, err := s.(*mongoStore).db.Collection(collectionSessions).Indexes().ListSpecifications(t.Context())
	if err != nil || !slices.ContainsFunc(indices, func(i mongo.IndexSpecification) bool {
		return i.ExpireAfterSeconds != nil && *i.ExpireAfterSeconds == 0
	}) {
		t.Errorf("no index lets sessions expire: %+v, %v", indices, err)
	}
}

// kindOf returns the kind of problem that an error is; empty: none.
func kindOf(err error) rpc.Kind {
	if err == nil {
		return ""
	}
	return airline.ProblemOf(err).Kind
}

// bookings returns bookings of one customer, whose ids are their flights'.
func bookings(login string, flights ...string) []airline.Booking {
	var all []airline.Booking
	for _, f := range flights {
		all = append(all, airline.Booking{ID: login + f, Login: login, Flight: f,
			Booked: "2026-01-01T00:00:00.000Z"})
	}
	return all
}

func TestBookingsAreWholeAndSingle(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store, again func() Store) {
		ctx := t.Context()
		for i, step := range []struct {
			do   func() error
			want rpc.Kind
		}{
			{func() error { return s.Book(ctx, bookings("c1", "b", "a")) }, ""},
			{func() error { return s.Book(ctx, bookings("c1", "c", "a")) }, airline.AlreadyBooked},
			{func() error { return s.Book(ctx, bookings("c1", "b")) }, airline.AlreadyBooked},
			{func() error { return s.Book(ctx, bookings("c11", "a", "c")) }, ""},
			{func() error { return s.Cancel(ctx, "c1", "c11a") }, airline.NotYours},
			{func() error { return s.Cancel(ctx, "c1", "c1x") }, airline.UnknownBooking},
			{func() error { return s.Cancel(ctx, "c11", "c11a") }, ""},
			{func() error { return s.Cancel(ctx, "c11", "c11a") }, airline.UnknownBooking},
			{func() error { return s.Cancel(ctx, "c11", "c11c") }, ""},
			{func() error { return s.Book(ctx, bookings("c11", "c")) }, ""},
		} {
			if got := kindOf(step.do()); got != step.want {
				t.Fatalf("step %d: %q, want %q", i, got, step.want)
			}
		}
		s = again()
		found, err := s.Bookings(ctx, "c1")
		if want := bookings("c1", "a", "b"); err != nil || !slices.Equal(found, want) {
			t.Errorf("found %+v, want %+v: %v", found, want, err)
		}
		var all []string
		err = s.EachBooking(ctx, func(b airline.Booking) error { all = append(all, b.ID); return nil })
		if slices.Sort(all); err != nil || !slices.Equal(all, []string{"c11c", "c1a", "c1b"}) {
			t.Errorf("all are %q: %v", all, err)
		}
	})
}

// TestBookingsAtOnce books ten pairs of flights for each of four customers, concurrently. All pairs of a
// customer share flight a, so exactly one of them succeeds.
func TestBookingsAtOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store, _ func() Store) {
		var booking sync.WaitGroup
		for i := range 40 {
			booking.Go(func() {
				login := fmt.Sprintf("c%d", i%4)
				first := "a"
				second := fmt.Sprintf("x%d", i)
				pair := bookings(login, first, second)
				pair[0].ID = fmt.Sprintf("%s-%d", pair[0].ID, i)
				if err := s.Book(t.Context(), pair); err != nil && kindOf(err) != airline.AlreadyBooked {
					t.Error(err)
				}
			})
		}
		booking.Wait()
		for i := range 4 {
			if found, err := s.Bookings(t.Context(), fmt.Sprintf("c%d", i)); err != nil || len(found) != 2 {
				t.Errorf("customer %d has %+v, want one pair: %v", i, found, err)
			}
		}
	})
}

func TestAStoreThatIsClosedSaysSo(t *testing.T) {
	s, err := OpenEmbedded(t.TempDir())
	testset.Must(t, err)
	testset.Must(t, s.Close())
	if err := s.EndSession(t.Context(), "token"); !errors.Is(err, errClosed) {
		t.Errorf("a write after the end: %v", err)
	}
}

func TestSecretsOfURLsAreNotTold(t *testing.T) {
	_, err := OpenMongo(t.Context(), "mongodb://user:geheim@:99999/?x=y")
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a URL that is none: %v", err)
	}
}
