package behaviour

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// flight is one as clients see it.
type flight struct {
	ID, From, To, Departs string
	Minutes, Price        int
}

// found is the answer to a query.
type found struct{ Outbound, Inbound []flight }

// hours returns the hours at which the twelve flights of a day depart.
func hours() []int { return []int{6, 7, 8, 10, 11, 12, 14, 15, 16, 18, 19, 20} }

// expected returns the flights of a segment on a day.
func expected(from, to, date string, minutes int) []flight {
	var all []flight
	for i, hour := range hours() {
		id := fmt.Sprintf("%s-%s-%s-%d", from, to, strings.ReplaceAll(date, "-", ""), i+1)
		all = append(all, flight{id, from, to, fmt.Sprintf("%sT%02d:00:00Z", date, hour), minutes,
			5000 + 10*minutes})
	}
	return all
}

func hasFlights(s *session) {
	for query, want := range map[string]found{
		"from=AMS&to=ATH&date=2026-02-27": {expected("AMS", "ATH", "2026-02-27", 71), nil},
		"date=2026-03-01&to=ATH&from=AMS": {expected("AMS", "ATH", "2026-03-01", 71), nil},
		"from=ATH&to=BOM&date=2026-02-28&return=2026-03-01": {expected("ATH", "BOM", "2026-02-28", 111),
			expected("BOM", "ATH", "2026-03-01", 99)},
		"from=BOM&to=AMS&date=2026-02-28&return=2026-02-27": {expected("BOM", "AMS", "2026-02-28", 88),
			expected("AMS", "BOM", "2026-02-27", 104)},
		"from=AMS&to=ATH&date=2026-03-02":                   {},
		"from=AMS&to=ATH&date=2026-02-26":                   {},
		"from=AMS&to=ATH&date=0001-01-01&return=9999-12-31": {},
		"from=AMS&to=AMS&date=2026-02-27":                   {},
		"from=AMS&to=BKK&date=2026-02-27&color=blue":        {expected("AMS", "BKK", "2026-02-27", 93), nil},
		"from=AMS&to=BKK&date=2026-02-27&color=red;blue":    {expected("AMS", "BKK", "2026-02-27", 93), nil},
		"from=%41MS&to=BKK&date=2026%2d02-28":               {expected("AMS", "BKK", "2026-02-28", 93), nil},
	} {
		var got found
		s.wants(s.ask("GET", "/flights?"+query, ""), 200, &got)
		if got.Outbound == nil || got.Inbound == nil || !sameFlights(got.Outbound, want.Outbound) ||
			!sameFlights(got.Inbound, want.Inbound) {
			s.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
}

// sameFlights compares flights; fractions of seconds that are zero may be written.
func sameFlights(got, want []flight) bool {
	return slices.EqualFunc(got, want, func(a, b flight) bool {
		a.Departs = strings.Replace(a.Departs, ".000Z", "Z", 1)
		return a == b
	})
}

func refusesQueries(s *session) {
	long := strings.Repeat("A", 257)
	for query, kind := range map[string]string{
		// the data have 5 airports: see data()
		"from=CDG&to=AMS&date=2026-02-27": "unknown-airport", "from=AMS&to=ZRH&date=2026-02-27": "unknown-airport",
		"from=ams&to=ATH&date=2026-02-27": "unknown-airport", "from=AMS-&to=ATH&date=2026-02-27": "unknown-airport",
		"from=" + long[1:] + "&to=ATH&date=2026-02-27":             "unknown-airport",
		"from=" + url.QueryEscape("🛫") + "&to=ATH&date=2026-02-27": "unknown-airport",
		"": "bad-request", "to=ATH&date=2026-02-27": "bad-request", "from=AMS&date=2026-02-27": "bad-request",
		"from=AMS&to=ATH":              "bad-request",
		"from=&to=ATH&date=2026-02-27": "bad-request", "from=AMS&to=&date=2026-02-27": "bad-request",
		"from=AMS&to=ATH&date=":                    "bad-request",
		"from=" + long + "&to=ATH&date=2026-02-27": "bad-request", "from=AMS&to=ATH&date=2026-02-30": "bad-request",
		"from=AMS&to=ATH&date=2025-02-29": "bad-request",
		"from=AMS&to=ATH&date=2026-2-27":  "bad-request", "from=AMS&to=ATH&date=20260227": "bad-request",
		"from=AMS&to=ATH&date=27-02-2026":           "bad-request",
		"from=AMS&to=ATH&date=2026-13-01":           "bad-request",
		"from=AMS&to=ATH&date=2026-02-27T00:00:00Z": "bad-request", "from=AMS&to=ATH&date=tomorrow": "bad-request",
		"from=AMS&to=ATH&date=2026-02-27&return=":                             "bad-request",
		"from=AMS&to=ATH&date=2026-02-27&return=2026-04-31":                   "bad-request",
		"from=AMS&from=AMS&to=ATH&date=2026-02-27":                            "bad-request",
		"from=AMS&to=ATH&date=2026-02-27&date=2026-02-27":                     "bad-request",
		"from=AMS&to=ATH&date=2026-02-27&return=2026-02-27&return=2026-02-27": "bad-request",
		"FROM=AMS&to=ATH&date=2026-02-27":                                     "bad-request",
		"from=nowhere&to=ATH&date=never":                                      "bad-request",
		"from=AMS&to=ATH&date=%202026-02-27":                                  "bad-request",
		"from=AMS&to=ATH&date=+2026-02-27":                                    "bad-request",
		"from=AMS&to=ATH&date=-026-02-27":                                     "bad-request",
		"from=AMS&to=ATH&date=-2026-02-27":                                    "bad-request",
		"from=AMS&to=ATH&date=%2B2026-02-27":                                  "bad-request",
		"from=AMS&to=ATH&date=%2B12026-02-27":                                 "bad-request",
		"from=AMS&to=ATH&date=2026-00-10":                                     "bad-request",
		"from=AMS&to=ATH&date=2026-01-00":                                     "bad-request",
	} {
		s.refused(query, s.ask("GET", "/flights?"+query, ""), kind)
	}
}
