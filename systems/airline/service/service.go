// Package service holds the business rules of the airline, in four components: Auth, Customers,
// Flights and Bookings. Each uses its own part of a store. It calls the others through interfaces,
// whether they are in this unit or in another one. It knows no HTTP and no architecture.
//
// Entry points: the four types, and Signer for sessions that no store keeps.
package service

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/store"
)

// Sessions returns the session of a token, or the problem NoSession.
type Sessions interface {
	Session(ctx context.Context, token string) (airline.Session, error)
}

// Credentials checks a login with its password. It returns the problem WrongCredentials if they are wrong.
type Credentials interface {
	Check(ctx context.Context, login, password string) error
}

// FlightFinder returns the flight of an id, or the problem UnknownFlight.
type FlightFinder interface {
	Flight(ctx context.Context, id string) (airline.Flight, error)
}

// Auth begins, checks and ends sessions.
type Auth struct {
	Store       store.Store
	Credentials Credentials
	Lasts       time.Duration // from a login to the end of its session
	// Signer signs sessions; nil: they are stored.
	Signer *Signer
}

// Login begins a session.
func (a *Auth) Login(
	ctx context.Context, login, password string,
) (token string, session airline.Session, err error) {
	if err := a.Credentials.Check(ctx, login, password); err != nil {
		return "", session, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	session = airline.Session{Login: login, Expires: now.Add(a.Lasts)}
	if a.Signer != nil {
		return a.Signer.Sign(session)
	}
	token = randomID()
	return token, session, a.Store.AddSession(ctx, token, session)
}

// Session implements Sessions for stored sessions; Signer does so for signed ones.
func (a *Auth) Session(ctx context.Context, token string) (airline.Session, error) {
	session, known, err := a.Store.Session(ctx, token)
	if err != nil {
		return session, err
	}
	if known && !session.Expires.After(time.Now()) {
		known = false
		if err := a.Store.EndSession(ctx, token); err != nil {
			return session, err
		}
	}
	if !known {
		return session, rpc.Problemf(airline.NoSession, "log in first")
	}
	return session, nil
}

// Logout ends a session that was checked before. One that is signed lives on until it
// expires.
func (a *Auth) Logout(ctx context.Context, token string) error {
	if a.Signer != nil {
		return nil
	}
	return a.Store.EndSession(ctx, token)
}

// idBytes is the number of random bytes in an id.
const idBytes = 16

// randomID returns a new id that nobody can guess, for tokens and bookings.
func randomID() string {
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails, says its documentation
	return hex.EncodeToString(id)
}

// IsID reports whether a text has the form of the ids that are made here: 32
// hexadecimal digits in lower case.
func IsID(text string) bool {
	for _, c := range text {
		isHexadecimal := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if !isHexadecimal {
			return false
		}
	}
	return len(text) == 2*idBytes
}

// Customers knows customers and their passwords.
type Customers struct{ Store store.Store }

// Check implements Credentials.
func (c *Customers) Check(ctx context.Context, login, password string) error {
	account, known, err := c.Store.Account(ctx, login)
	if err != nil {
		return err
	}
	hash := airline.PasswordHash(login, password)
	if !known || subtle.ConstantTimeCompare([]byte(hash), []byte(account.Password)) != 1 {
		return rpc.Problemf(airline.WrongCredentials, "no customer has this login and password")
	}
	return nil
}

// Customer returns what is known of a customer who has a session.
func (c *Customers) Customer(ctx context.Context, login string) (airline.Customer, error) {
	account, known, err := c.Store.Account(ctx, login)
	if err == nil && !known {
		err = rpc.Problemf(rpc.Internal, "the customer is gone")
	}
	return account.Customer, err
}

// SetContact changes phone and address of a customer who has a session.
func (c *Customers) SetContact(
	ctx context.Context, login string, contact airline.Contact,
) (airline.Customer, error) {
	return c.Store.SetContact(ctx, login, contact)
}

// Flights knows airports and flights.
type Flights struct{ Store store.Store }

// On returns the flights of a day from one airport to another.
func (f *Flights) On(ctx context.Context, from, to string, day time.Time) ([]airline.Flight, error) {
	found, err := f.Store.Flights(ctx, from, to, day.Format(airline.DayLayout))
	if found == nil {
		found = []airline.Flight{} // as JSON: []
	}
	return found, err
}

// CheckAirports refuses codes that no airport has.
func (f *Flights) CheckAirports(ctx context.Context, codes ...string) error {
	for _, code := range codes {
		known, err := f.Store.HasAirport(ctx, code)
		if err != nil {
			return err
		}
		if !known {
			return rpc.Problemf(airline.UnknownAirport, "no airport has the code %q", code)
		}
	}
	return nil
}

// Flight implements FlightFinder.
func (f *Flights) Flight(ctx context.Context, id string) (airline.Flight, error) {
	flight, known, err := f.Store.Flight(ctx, id)
	if err == nil && !known {
		err = unknownFlight(id)
	}
	return flight, err
}

func unknownFlight(id string) error {
	return rpc.Problemf(airline.UnknownFlight, "there is no flight %q", id)
}

// Bookings books and cancels.
type Bookings struct {
	Store   store.Store
	Flights FlightFinder
}

// Book books all the flights for a customer, or none.
func (b *Bookings) Book(ctx context.Context, login string, flights []string) ([]airline.Booking, error) {
	for _, id := range flights {
		if !airline.ValidFlightID(id) {
			return nil, unknownFlight(id)
		}
		if _, err := b.Flights.Flight(ctx, id); err != nil {
			return nil, err
		}
	}
	bookings := make([]airline.Booking, len(flights))
	booked := time.Now().UTC().Format(airline.BookedLayout)
	for i, id := range flights {
		bookings[i] = airline.Booking{ID: randomID(), Login: login, Flight: id, Booked: booked}
	}
	return bookings, b.Store.Book(ctx, bookings)
}

// Of returns the bookings of a customer.
func (b *Bookings) Of(ctx context.Context, login string) ([]airline.Booking, error) {
	found, err := b.Store.Bookings(ctx, login)
	if found == nil {
		found = []airline.Booking{} // as JSON: []
	}
	return found, err
}

// Cancel removes a booking of a customer.
func (b *Bookings) Cancel(ctx context.Context, login, id string) error {
	return b.Store.Cancel(ctx, login, id)
}

// Each visits all bookings.
func (b *Bookings) Each(ctx context.Context, visit func(airline.Booking) error) error {
	return b.Store.EachBooking(ctx, visit)
}
