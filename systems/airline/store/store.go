// Package store keeps the data of the airline: in a file of the unit's own (OpenEmbedded), or on a server
// of MongoDB's protocol (OpenMongo). It enforces only the rules that need a store: that customers book a
// flight once and cancel only what they have booked, and that two flights are booked together or not at all.
// Such refusals are problems (rpc.Problem); other errors are failures of the store.
//
// Entry points: OpenEmbedded, OpenMongo.
package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
)

// Store keeps customers, sessions, flights and bookings. What a method has stored when
// it returns is found again, even if the process is killed at once.
type Store interface {
	// Load stores the data that an airline begins with, where it was not stored before.
	// A unit may have only a part of the airline: customers and flights tell which to load.
	Load(ctx context.Context, data airline.Data, customers, flights bool) error

	// Account finds a customer; known tells whether there is one.
	Account(ctx context.Context, login string) (account airline.Account, known bool, err error)
	// SetContact changes an existing customer, and returns the changed one.
	SetContact(ctx context.Context, login string, contact airline.Contact) (airline.Customer, error)

	// AddSession stores a session. Expired sessions are removed sooner or later.
	AddSession(ctx context.Context, token string, session airline.Session) error
	// Session finds a session, whether it has expired or not.
	Session(ctx context.Context, token string) (session airline.Session, known bool, err error)
	// EndSession removes a session, if there is one.
	EndSession(ctx context.Context, token string) error

	HasAirport(ctx context.Context, code string) (bool, error)
	// Flights returns the flights of a segment on a day (YYYYMMDD), in the order of their numbers.
	Flights(ctx context.Context, from, to, day string) ([]airline.Flight, error)
	Flight(ctx context.Context, id string) (flight airline.Flight, known bool, err error)

	// Book stores all the bookings, which are of one customer. If the customer has one of the flights already,
	// it stores none and returns AlreadyBooked.
	Book(ctx context.Context, bookings []airline.Booking) error
	// Bookings returns the bookings of a customer, sorted by their time, then by their id.
	Bookings(ctx context.Context, login string) ([]airline.Booking, error)
	// Cancel removes a booking of the customer, or returns UnknownBooking or NotYours.
	Cancel(ctx context.Context, login, id string) error
	// EachBooking visits all bookings, in no order, until visit returns an error.
	EachBooking(ctx context.Context, visit func(airline.Booking) error) error

	Close() error
}

// sortByTime puts bookings into the order of Store.Bookings.
func sortByTime(bookings []airline.Booking) {
	slices.SortFunc(bookings, func(a, b airline.Booking) int {
		return cmp.Or(cmp.Compare(a.Booked, b.Booked), cmp.Compare(a.ID, b.ID))
	})
}

// checkOwner returns an error if a customer cannot cancel a booking, given its owner and whether it exists.
func checkOwner(login, owner string, known bool) error {
	if !known {
		return errUnknownBooking()
	}
	if owner != login {
		return rpc.Problemf(airline.NotYours, "another customer has made this booking")
	}
	return nil
}

func errUnknownBooking() error {
	return rpc.Problemf(airline.UnknownBooking, "there is no booking of this id")
}

func errNoCustomer() error { return rpc.Problemf(rpc.Internal, "the customer is gone") }
