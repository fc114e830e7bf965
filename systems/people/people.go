// Package people is a small system after Flygare and Holmqvist 2017: persons, addresses
// and profiles are created and fetched by an id; every record is hashed and encrypted
// before it is stored. It is written once, and runs in every architecture.
//
// This package holds the vocabulary: the kinds of records with their properties, their
// limits, and how calls fail (ProblemOf). It knows no database, no socket and no
// architecture.
//
// The messages between units are in peoplepb; seal encrypts, records stores, gateway is
// the public interface, architecture holds the designs, peopleunit joins the components
// of a unit, and system is the whole as a system under test.
package people

import (
	"unicode/utf8"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// Name is the name of the system in study files.
const Name = "people"

// Kind is a kind of records; components, tables and routes are named after it.
type Kind string

// The kinds of records.
const (
	Persons   Kind = "persons"
	Addresses Kind = "addresses"
	Profiles  Kind = "profiles"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Persons, Addresses, Profiles} }

// Properties returns the names of a record's values, in their order; none if the kind is
// unknown. There are 2, 5 and 10 of them, as in the study.
func (k Kind) Properties() []string {
	switch k {
	case Persons:
		return []string{"firstName", "lastName"}
	case Addresses:
		return []string{"street", "number", "postcode", "city", "country"}
	case Profiles:
		return []string{"userName", "email", "phone", "birthday", "language", "occupation", "company", "website",
			"interests", "about"}
	}
	return nil
}

// MaxValue is the longest value, in bytes.
const MaxValue = 1024

// Check refuses values that are no record of the kind.
func (k Kind) Check(values []string) error {
	properties := k.Properties()
	switch {
	case properties == nil:
		return rpc.Problemf(rpc.InvalidArgument, "there are no records of the kind %q", k)
	case len(values) != len(properties):
		return rpc.Problemf(rpc.InvalidArgument, "%d values, but %s have %d properties", len(values), k,
			len(properties))
	}
	for i, value := range values {
		if value == "" || len(value) > MaxValue || !utf8.ValidString(value) {
			return rpc.Problemf(rpc.InvalidArgument, "%s has %d bytes: use 1 to %d of UTF-8 text", properties[i],
				len(value), MaxValue)
		}
	}
	return nil
}
