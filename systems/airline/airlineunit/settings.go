package airlineunit

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/kit"
)

// The units. UnitMonolith hosts the parts of all others.
const (
	UnitMonolith  = "monolith"
	UnitAuth      = "auth"
	UnitCustomers = "customers"
	UnitFlights   = "flights"
	UnitBookings  = "bookings"
)

// ServiceDatabase is the name of the database server among a unit's services, if it uses one.
const ServiceDatabase = "database"

// Settings hold the settings of a unit from its environment, the same in all implementations.
type Settings struct {
	kit.Settings   // only units in Go have them; sidecars, encoding and balancing are no settings of a unit
	Unit           string
	Dir            string            // of the unit; it has the identity of the unit if calls are protected
	Peers          map[string]string // host:port by unit
	Folder         string            // of the embedded store
	Database       string            // URL of the server; empty: the embedded store
	Data           airline.Data
	SessionSeconds int
	Key            []byte // of signed sessions; nil: auth is asked
	Pool           bool   // connections to other units are kept
	GRPC           bool   // units call each other over gRPC, not over HTTP; it keeps its connections
}

// keySize is the length of the key of signed sessions, in bytes.
const keySize = 32

// Read reads the settings. get is os.Getenv; errors name all variables that have a wrong
// value.
func Read(get func(string) string) (Settings, error) {
	r := reader{get: get}
	s := Settings{
		Unit:  r.one("AIRLINE_UNIT", UnitMonolith, UnitAuth, UnitCustomers, UnitFlights, UnitBookings),
		Peers: map[string]string{},
		Data: airline.Data{
			Customers: r.number("AIRLINE_CUSTOMERS", 200, 1, 1_000_000),
			Airports:  r.number("AIRLINE_AIRPORTS", 14, 2, airline.MaxAirports),
			Days:      r.number("AIRLINE_DAYS", 30, 1, 366), Flights: r.number("AIRLINE_FLIGHTS", 2, 1, 99),
			FirstDay: r.date("AIRLINE_FIRST_DAY", "2026-01-01"),
		},
		SessionSeconds: r.number("AIRLINE_SESSION_SECONDS", 1800, 1, 86400),
		Pool:           r.one("AIRLINE_POOL", "on", "off") == "on",
		GRPC:           r.one("AIRLINE_CALLS", "http", "grpc") == "grpc",
		Dir:            get("CLEAVE_DIR"),
	}
	var err error
	if s.Settings, err = kit.ReadSettings(map[string]string{
		kit.KnobSecurity:   r.one("AIRLINE_SECURITY", kit.Security().Values...),
		kit.KnobResilience: r.one("AIRLINE_RESILIENCE", kit.Resilience().Values...),
		kit.KnobLogging:    r.one("AIRLINE_LOGGING", kit.Logging().Values...),
		kit.KnobSpans:      cmp.Or(get("AIRLINE_SPANS"), kit.SpansOff),
	}); err != nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("AIRLINE_SPANS: %w", err))
	}
	if s.GRPC && !s.Pool {
		r.mistakes = append(r.mistakes,
			errors.New(`AIRLINE_POOL is "off": with AIRLINE_CALLS=grpc connections are kept, use on`))
	}
	if r.one("AIRLINE_STORE", "embedded", "mongodb") == "mongodb" {
		s.Database = r.needed(lab.ServiceVariable(ServiceDatabase))
	} else {
		s.Folder = r.needed("AIRLINE_DATA")
	}
	signed := r.one("AIRLINE_SESSIONS", "ask", "token") == "token"
	if signed {
		s.Key = r.key("AIRLINE_KEY")
	}
	for _, peer := range Asks(s.Unit, signed) {
		s.Peers[peer] = r.needed(lab.PeerVariable(peer))
	}
	return s, errors.Join(r.mistakes...)
}

// Asks returns the units that a unit asks. If sessions are signed, none asks auth.
func Asks(unit string, signed bool) []string {
	peers := map[string][]string{
		UnitAuth: {UnitCustomers}, UnitCustomers: {UnitAuth}, UnitFlights: {UnitAuth},
		UnitBookings: {UnitAuth, UnitFlights},
	}[unit]
	if !signed {
		return peers
	}
	return slices.DeleteFunc(peers, func(peer string) bool { return peer == UnitAuth })
}

// reader reads variables and collects their mistakes.
type reader struct {
	get      func(string) string
	mistakes []error
}

// one returns the value of a variable, which must be among some values. The first one is the default.
func (r *reader) one(name string, values ...string) string {
	value := r.get(name)
	if value == "" {
		return values[0]
	}
	if !slices.Contains(values, value) {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s is %q: use %s", name, value, strings.Join(values, ", ")))
	}
	return value
}

func (r *reader) needed(name string) string {
	value := r.get(name)
	if value == "" {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s is not set", name))
	}
	return value
}

func (r *reader) number(name string, standard, least, most int) int {
	value := r.get(name)
	if value == "" {
		return standard
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s is %q: use %d to %d", name, value, least, most))
	}
	return n
}

func (r *reader) date(name, standard string) time.Time {
	value := cmp.Or(r.get(name), standard)
	date, err := time.Parse(time.DateOnly, value)
	if err != nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s is %q: use a date such as %s", name, value, standard))
	}
	return date
}

// key reads a key from the file that a variable names.
func (r *reader) key(name string) []byte {
	path := r.needed(name)
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize { // err would show a part of it
		r.mistakes = append(r.mistakes, fmt.Errorf("%s is %q: the file does not hold %d bytes in hexadecimal", name,
			path, keySize))
	}
	return key
}
