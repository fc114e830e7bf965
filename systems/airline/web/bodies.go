package web

import (
	"encoding/json"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
)

// object is a JSON object with exactly the fields that were asked for. It is no struct, since encoding/json
// would also take field names in another case.
type object map[string]any

// readObject returns a body as an object with exactly the fields of these names.
func readObject(body []byte, names ...string) (object, error) {
	var value any
	if !utf8.Valid(body) || json.Unmarshal(body, &value) != nil { // its error would repeat what was sent
		return nil, rpc.Problemf(airline.BadRequest, "the body is no JSON in UTF-8")
	}
	if hasHalfPair(body) {
		return nil, rpc.Problemf(airline.BadRequest, "the body has half a character")
	}
	return checkObject(value, "the body", names...)
}

// escapes matches the escapes in JSON: a surrogate pair as one, and half of a pair with its beginning as a
// submatch.
var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)`)

// hasHalfPair reports whether JSON has half of a surrogate pair. encoding/json would replace it.
func hasHalfPair(body []byte) bool {
	for _, escape := range escapes.FindAllSubmatch(body, -1) {
		if escape[1] != nil {
			return true
		}
	}
	return false
}

// checkObject returns a value as an object with exactly these fields. what names the value in messages.
func checkObject(value any, what string, names ...string) (object, error) {
	fields, is := value.(map[string]any)
	if !is {
		return nil, rpc.Problemf(airline.BadRequest, "%s is no JSON object", what)
	}
	for _, name := range names {
		if _, given := fields[name]; !given {
			return nil, rpc.Problemf(airline.BadRequest, "%s is missing in %s", name, what)
		}
	}
	for name := range fields {
		if !slices.Contains(names, name) {
			return nil, rpc.Problemf(airline.BadRequest, "%s has the unknown field %.50q", what, name)
		}
	}
	return fields, nil
}

// text returns a field that must be a text.
func (o object) text(name string) (string, error) {
	text, is := o[name].(string)
	if !is {
		return "", rpc.Problemf(airline.BadRequest, "%s is no text", name)
	}
	return checkText(text, name)
}

// checkText returns the text, or a problem if it is empty, too long or no UTF-8. name is for its message.
func checkText(text, name string) (string, error) {
	if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > airline.MaxText {
		return "", rpc.Problemf(airline.BadRequest, "%s has not 1 to %d characters of UTF-8", name,
			airline.MaxText)
	}
	return text, nil
}

// readContact returns the contact in the body of a change of a customer.
func readContact(body []byte) (contact airline.Contact, err error) {
	fields, err := readObject(body, "phone", "address")
	if err != nil {
		return contact, err
	}
	if contact.Phone, err = fields.text("phone"); err != nil {
		return contact, err
	}
	address, err := checkObject(fields["address"], "address", "street", "city", "postcode", "country")
	if err != nil {
		return contact, err
	}
	for name, target := range map[string]*string{
		"street": &contact.Address.Street, "city": &contact.Address.City,
		"postcode": &contact.Address.Postcode, "country": &contact.Address.Country,
	} {
		if *target, err = address.text(name); err != nil {
			return contact, err
		}
	}
	return contact, nil
}

// readOrder returns the ids of the flights in the body of a booking.
func readOrder(body []byte) ([]string, error) {
	fields, err := readObject(body, "flights")
	if err != nil {
		return nil, err
	}
	values, is := fields["flights"].([]any)
	if !is || len(values) < 1 || len(values) > 2 {
		return nil, rpc.Problemf(airline.BadRequest, "flights is no list of one flight or two")
	}
	flights := make([]string, len(values))
	for i, value := range values {
		if flights[i], err = (object{"flights": value}).text("flights"); err != nil {
			return nil, err
		}
	}
	if len(flights) == 2 && flights[0] == flights[1] {
		return nil, rpc.Problemf(airline.BadRequest, "flights has the same flight twice")
	}
	return flights, nil
}
