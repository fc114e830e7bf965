package airline

import (
	"slices"
	"testing"
	"time"
)

func TestDataFollowsItsRule(t *testing.T) {
	data := Data{Customers: 10001, Airports: MaxAirports, Days: 2, Flights: 3,
		FirstDay: time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)}
	flights := slices.Collect(data.AllFlights())
	if want := 30 * 29 * 2 * 3; len(flights) != want {
		t.Fatalf("%d flights, want %d", len(flights), want)
	}
	// 60 + (7*29 + 11*28) mod 600; 6 + 2*16/3
	want := Flight{"ZRH-YYZ-20260301-3", "ZRH", "YYZ", time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC), 571, 10710}
	if last := flights[len(flights)-1]; last != want {
		t.Errorf("the last flight is %+v, want %+v", last, want)
	}
	accounts := slices.Collect(data.AllAccounts())
	last := accounts[len(accounts)-1]
	if want := (Customer{"c10000", "First 10000", "Last 10000", "+1 555 0000", 0,
		Address{"10000 Main Street", "Springfield", "10000", "US"}}); last.Customer != want {
		t.Errorf("the last customer is %+v, want %+v", last.Customer, want)
	}
	// sha256sum of c10000:password-10000
	if want := "08ec5694b6a3f29f528a8f4c8b3e5d13cd8fc207393457e2fb1e981d72c2a789"; last.Password != want {
		t.Errorf("the hash of the password is %s, want %s", last.Password, want)
	}
}

func TestValidFlightIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"AMS-ATH-20260101-1": true, "AMS-ATH-20260101-999": true, "AMS-ATH-20260101-1000": false,
		"AMS-ATH-20260101-": false, "AMS-ATH-2026010-1": false,
		"AMS-ATH-20260101": false, "AMS-AT-20260101-1": false, "ams-ATH-20260101-1": false,
		"AMS-ATH-20260101-1-1": false, "AMS-ATH-2026 101-1": false, "": false,
	} {
		if got := ValidFlightID(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
