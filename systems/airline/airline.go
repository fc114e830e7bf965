// Package airline is a small airline after Acme Air, the application that Ueda, Nakaike
// and Ohara cut into services in 2016: customers log in, look for flights, book and
// cancel them. It is written once in each of three languages; this is the Go
// implementation, which runs as one unit or as four.
//
// Here is the vocabulary: what is stored and sent, why something is refused (ProblemOf),
// and the data that every airline begins with (Data). It knows no database, no socket
// and no architecture.
//
// api describes the public interface; behaviour tests it on implementations in any language. store
// keeps the data, service has the rules, web speaks HTTP, calls carries the calls between units over
// gRPC, and airlineunit connects these to a unit.
package airline

import "time"

// Name is the name of the system in study files.
const Name = "airline"

// Address is the address of a customer.
type Address struct {
	Street   string `json:"street"`
	City     string `json:"city"`
	Postcode string `json:"postcode"`
	Country  string `json:"country"`
}

// Contact holds the data about themselves that customers may change.
type Contact struct {
	Phone   string
	Address Address
}

// Customer is an account without its password, for its owner.
type Customer struct {
	Login     string  `json:"login"`
	FirstName string  `json:"firstName"`
	LastName  string  `json:"lastName"`
	Phone     string  `json:"phone"`
	Miles     int     `json:"miles"`
	Address   Address `json:"address"`
}

// Account is a customer with the hash of the password (see PasswordHash).
type Account struct {
	Customer Customer `json:"customer"`
	Password string   `json:"password"`
}

// Session is a login of a customer and the time until which it is valid.
type Session struct {
	Login   string    `json:"login"`
	Expires time.Time `json:"expires"`
}

// Flight is one flight on one day.
type Flight struct {
	ID      string    `json:"id"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Departs time.Time `json:"departs"`
	Minutes int       `json:"minutes"` // in the air
	Price   int       `json:"price"`   // cents
}

// Booking is a seat of a customer on a flight.
type Booking struct {
	ID     string `json:"id"` // 32 hexadecimal digits
	Login  string `json:"login"`
	Flight string `json:"flight"`
	Booked string `json:"booked"` // see BookedLayout
}

// BookedLayout is the format of a booking's time: RFC 3339 with milliseconds, in UTC, so that
// the order of texts is that of times.
const BookedLayout = "2006-01-02T15:04:05.000Z"

// MaxText is the longest text in a request, in characters.
const MaxText = 256
