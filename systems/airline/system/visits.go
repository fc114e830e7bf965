package system

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
)

// firstData returns the sizes of the data that an airline begins with: except for the customers, those of
// the loader in the study of Ueda, Nakaike and Ohara (2016).
func firstData(p lab.Point) airline.Data {
	return airline.Data{Customers: customers(p), Airports: 14, Days: 30, Flights: 2,
		FirstDay: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// The shares of visits, in percent, and the searches of each, as in the driver of Acme
// Air: see docs/airline.md.
const (
	viewing    = 25 // look at their profile and change it
	cancelling = 25 // cancel what they have booked
	searches   = 5  // the last is for what is booked
	stay       = 7  // days until the flight back
)

// The operations of the scenario.
const (
	opBook   = "book flights"
	opCancel = "cancel a booking"
)

// object is a JSON object.
type object = map[string]any

// visits returns the scenario of the customers (cleave-scenario/1) and its files: each visit is of the
// next customer, who books any round trip.
func visits(p lab.Point) (json.RawMessage, map[string][]byte, error) {
	var flows []object
	for _, views := range []bool{false, true} {
		for _, cancels := range []bool{false, true} {
			name := "visit"
			if views {
				name += ", profile"
			}
			if cancels {
				name += ", cancel"
			}
			weight := share(views, viewing) * share(cancels, cancelling)
			flows = append(flows, object{"name": name, "weight": weight, "steps": steps(views, cancels)})
		}
	}
	const customersFile, tripsFile = "customers.csv", "trips.csv"
	data := object{"customer": object{"csv": customersFile}, "trip": object{"csv": tripsFile, "order": "random"}}
	for n := 1; n < searches; n++ {
		data[fmt.Sprint("look", n)] = object{"csv": tripsFile, "order": "random"}
	}
	files := map[string][]byte{customersFile: customerRows(customers(p)), tripsFile: tripRows(p)}
	text, err := json.Marshal(object{
		"schema": "cleave-scenario/1", "name": airline.Name, "cookies": false,
		"values": object{"phone": object{"text": object{"length": 12}}}, "data": data, "flows": flows,
	})
	return text, files, err
}

// share returns percent, the share of visits that do something, if does is true; or else the share of those
// that do not.
func share(does bool, percent float64) float64 {
	if does {
		return percent
	}
	return 100 - percent
}

// steps returns the steps of a visit. The expected answers follow from the requests, and from the rule by
// which airline.Data makes flights.
func steps(views, cancels bool) []object {
	const account = "/customers/${customer.login}"
	session := object{"Authorization": "Bearer ${token}"}
	all := []object{{
		"name": "log in", "request": "POST /login", "json": object{"login": "${customer.login}",
			"password": "${customer.password}"},
		"expect": object{"status": "200"}, "extract": object{"token": object{"json": "token"}},
	}}
	// step adds a step. answer holds the expectations besides the status, more the other fields of the step;
	// both may be nil.
	step := func(name, request, status string, answer, more object) {
		expect := object{"status": status}
		maps.Copy(expect, answer)
		s := object{"name": name, "request": request, "headers": session, "expect": expect}
		maps.Copy(s, more)
		all = append(all, s)
	}
	if views {
		step("view the profile", "GET "+account, "200",
			object{"json": object{"login": "${customer.login}", "address.country": "US"}}, nil)
		step("change the profile", "PUT "+account, "200",
			object{"json": object{"login": "${customer.login}", "phone": "${phone}",
				"address.street": "${phone} Street"}},
			object{"json": object{"phone": "${phone}", "address": object{"street": "${phone} Street",
				"city": "Springfield", "postcode": "12345", "country": "US"}}})
	}
	for n := 1; n <= searches; n++ {
		of := fmt.Sprint("look", n)
		if n == searches {
			of = "trip"
		}
		column := func(name string) string { return "${" + of + "." + name + "}" }
		path := "/flights?from=" + column("from") + "&to=" + column("to") + "&date=" + column("date") +
			"&return=" + column("return")
		step("search flights", "GET "+path, "200",
			object{"json": object{"outbound.0.id": column("out"), "inbound.1.id": column("back")}}, nil)
	}
	step(opBook, "POST /bookings", "201",
		object{"json": object{"bookings.0.flight": "${trip.out}", "bookings.1.flight": "${trip.back}",
			"bookings.0.login": "${customer.login}"}},
		object{
			"json":    object{"flights": []string{"${trip.out}", "${trip.back}"}},
			"extract": object{"out": object{"json": "bookings.0.id"}, "back": object{"json": "bookings.1.id"}},
			"note":    []string{"customer.login", "trip.out", "trip.back", "out", "back"},
		})
	step("list bookings", "GET "+account+"/bookings", "200",
		object{"body": []string{`"${out}"`, `"${back}"`}}, nil)
	if cancels {
		for _, id := range []string{"out", "back"} {
			step(opCancel, "DELETE /bookings/${"+id+"}", "204", nil, object{"note": []string{"customer.login", id}})
		}
	}
	step("log out", "POST /logout", "204", nil, nil)
	return all
}

// customerRows returns the logins and passwords of customers as CSV.
func customerRows(count int) []byte {
	rows := [][]string{{"login", "password"}}
	for n := range count {
		rows = append(rows, []string{fmt.Sprint("c", n), fmt.Sprint("password-", n)})
	}
	return csvOf(rows)
}

// tripRows returns round trips on two flights: out with the first of a day, back with the second of another.
// No two trips share a flight, so that two trips of a customer conflict only if they are the same trip: once
// in thousands.
func tripRows(p lab.Point) []byte {
	data := firstData(p)
	rows := [][]string{{"from", "to", "date", "return", "out", "back"}}
	last := data.FirstDay.AddDate(0, 0, data.Days-stay)
	for f := range data.AllFlights() {
		if back := f.Departs.AddDate(0, 0, stay); strings.HasSuffix(f.ID, "-1") && f.Departs.Before(last) {
			id := fmt.Sprintf("%s-%s-%s-2", f.To, f.From, back.Format(airline.DayLayout))
			rows = append(rows, []string{f.From, f.To, f.Departs.Format(time.DateOnly), back.Format(time.DateOnly),
				f.ID, id})
		}
	}
	return csvOf(rows)
}

func csvOf(rows [][]string) []byte {
	var text bytes.Buffer
	_ = csv.NewWriter(&text).WriteAll(rows) // memory takes everything
	return text.Bytes()
}
