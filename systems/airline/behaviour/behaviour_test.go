// Package behaviour is the suite that every implementation of the airline must pass, in any language, as one
// unit or as four. It knows an airline by its addresses only, and shares no code with it but the description
// of the interface, against which it checks every answer that comes through the front.
//
// Entry point: Suite.
package behaviour

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// Airline is a running airline.
type Airline struct {
	Front string            // base URL of the proxy before the units
	Units map[string]string // base URL of each unit by its name
	// Kill ends a unit with SIGKILL and returns when it is gone.
	Kill func(unit string) error
	// Restart starts a unit that was killed, at its address and with its folder, and
	// returns when it is healthy.
	Restart func(unit string) error
	// Stderr returns what a unit has written to standard error.
	Stderr func(unit string) string
	// Reconnect limits the time in which other units find a restarted unit: those that keep connections
	// pause before they try again.
	Reconnect time.Duration
	// SkipSlow leaves out slow requests: another test sends them to the same units.
	SkipSlow bool
}

// Hosting returns the unit that has a part of the airline.
func (a *Airline) Hosting(part string) string {
	if _, monolith := a.Units[Monolith]; monolith {
		return Monolith
	}
	return part
}

// The units of an airline: either Monolith, or all others.
const (
	Monolith  = "monolith"
	Auth      = "auth"
	Customers = "customers"
	Flights   = "flights"
	Bookings  = "bookings"
)

// Start starts a fresh airline with settings, which are variables of its units'
// environment, and ends it with the test.
type Start func(t *testing.T, settings map[string]string) *Airline

// data returns the settings for the data that airlines in the suite begin with.
func data() map[string]string {
	return map[string]string{"AIRLINE_CUSTOMERS": "60", "AIRLINE_AIRPORTS": "5", "AIRLINE_DAYS": "3",
		"AIRLINE_FLIGHTS": "12", "AIRLINE_FIRST_DAY": "2026-02-27"}
}

// with returns the data with other settings.
func with(settings map[string]string) map[string]string {
	all := data()
	maps.Copy(all, settings)
	return all
}

// check is one promise of an airline. Checks share an airline; each has customers of its own, and is logged
// in as the first of them.
type check struct {
	name string
	run  func(s *session)
}

// perCheck is the number of customers that a check has.
const perCheck = 4

func checks() []check {
	return []check{
		{"logs in and out", logsInAndOut}, {"refuses without a session", refusesWithoutSession},
		{"has the customers", hasCustomers}, {"changes customers", changesCustomers},
		{"has the flights", hasFlights}, {"refuses queries", refusesQueries},
		{"books and cancels", booksAndCancels}, {"refuses bookings", refusesBookings},
		{"books all or nothing", booksAllOrNothing}, {"books once at a time", booksOnceAtATime},
		{"refuses bodies", refusesBodies}, {"refuses paths and methods", refusesPathsAndMethods},
		{"checks in order", checksInOrder},
		{"keeps what is internal inside", keepsInternalInside},
	}
}

// Suite plays all checks; see testset for those that take long.
func Suite(t *testing.T, start Start) {
	t.Run("asking", func(t *testing.T) {
		a := start(t, data())
		for i, c := range checks() {
			t.Run(c.name, func(t *testing.T) { c.run(newSession(t, a, i*perCheck)) })
		}
		first := len(checks()) * perCheck // the first customer that no check has
		t.Run("answers other units", func(t *testing.T) { answersUnits(newSession(t, a, first)) })
		t.Run("ends slow requests", func(t *testing.T) { endsSlowRequests(newSession(t, a, first+1)) })
		t.Run("reports a missing part", func(t *testing.T) {
			reportsMissingPart(newSession(t, a, first+2))
		})
		t.Run("keeps what it acknowledged", func(t *testing.T) { keepsAcknowledged(t, a) })
	})
	t.Run("expiring", func(t *testing.T) {
		a := start(t, with(map[string]string{"AIRLINE_SESSION_SECONDS": "2", "AIRLINE_POOL": "off"}))
		expires(newSession(t, a, 0))
	})
	t.Run("token", func(t *testing.T) {
		key := "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
		a := start(t, with(map[string]string{"AIRLINE_SESSIONS": "token", "AIRLINE_KEY": writeKey(t, key),
			"AIRLINE_SESSION_SECONDS": "4"}))
		takesSignedTokens(newSession(t, a, 0), key)
	})
}

// login returns the login of the n-th customer, counted from 0.
func login(n int) string { return fmt.Sprintf("c%d", n) }

// soon is the time limit, on a busy machine, for what should take no time.
const soon = 10 * time.Second
