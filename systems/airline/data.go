package airline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Data holds the sizes of the data that an airline begins with. All implementations derive the same
// data from them.
type Data struct {
	Customers int
	Airports  int // MaxAirports at most
	Days      int
	Flights   int // on each segment, each day
	FirstDay  time.Time
}

// MaxAirports is the number of airports that AllAirports knows.
const MaxAirports = 30

// DayLayout is the format of the day in flights' ids.
const DayLayout = "20060102"

// AllAirports returns the codes of the airports of this data.
func (d Data) AllAirports() []string {
	return strings.Fields("AMS ATH ATL BKK BOM CDG DEL DFW DXB FCO FRA GRU HKG HND IST " +
		"JFK LAX LHR MAD MEX MIA MUC NRT ORD PEK SFO SIN SYD YYZ ZRH")[:d.Airports]
}

// AllFlights returns the flights of this data: d.Flights a day on every segment. A segment leads from
// one airport to another.
func (d Data) AllFlights() iter.Seq[Flight] {
	return func(yield func(Flight) bool) {
		airports := d.AllAirports()
		for i, from := range airports {
			for j, to := range airports {
				for day := range d.Days {
					for k := range d.Flights {
						if i != j && !yield(d.flight(from, to, 7*i+11*j, day, k)) {
							return
						}
					}
				}
			}
		}
	}
}

// flight returns the k-th flight, counted from 0, of a segment on a day. Flights of one segment take the same
// time, which a number for the length of the segment decides.
func (d Data) flight(from, to string, length, day, k int) Flight {
	date := d.FirstDay.AddDate(0, 0, day)
	minutes := 60 + length%600
	return Flight{
		ID:   fmt.Sprintf("%s-%s-%s-%d", from, to, date.Format(DayLayout), k+1),
		From: from, To: to, Departs: date.Add(time.Duration(6+k*16/d.Flights) * time.Hour),
		Minutes: minutes, Price: 5000 + 10*minutes,
	}
}

// AllAccounts returns the customers of this data.
func (d Data) AllAccounts() iter.Seq[Account] {
	return func(yield func(Account) bool) {
		for n := range d.Customers {
			login := fmt.Sprintf("c%d", n)
			if !yield(Account{
				Customer: Customer{
					Login: login, FirstName: fmt.Sprintf("First %d", n), LastName: fmt.Sprintf("Last %d", n),
					Phone: fmt.Sprintf("+1 555 %04d", n%10000), Miles: 100 * (n % 1000),
					Address: Address{fmt.Sprintf("%d Main Street", n), "Springfield", fmt.Sprintf("%05d", n%100000), "US"},
				},
				Password: PasswordHash(login, fmt.Sprintf("password-%d", n)),
			}) {
				return
			}
		}
	}
}

// PasswordHash returns the stored form of a password. A real airline would use a function that is slow on
// purpose; here it is quick in all implementations alike, since it would be most of the cost of a login.
func PasswordHash(login, password string) string {
	hash := sha256.Sum256([]byte(login + ":" + password))
	return hex.EncodeToString(hash[:])
}

var flightID = regexp.MustCompile(`^[A-Z]{3}-[A-Z]{3}-[0-9]{8}-[0-9]{1,3}$`)

// ValidFlightID reports whether a text has the form of a flight's id, FROM-TO-YYYYMMDD-k.
func ValidFlightID(id string) bool { return flightID.MatchString(id) }

// SortFlights sorts flights of one segment and day by their numbers, which end their ids: a longer id has the
// greater number.
func SortFlights(flights []Flight) {
	slices.SortFunc(flights, func(a, b Flight) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
}
