package scenario

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkHeaders refuses headers that frame a request, which only the engine may set, and names that differ
// in case only.
func (c *compiler) checkHeaders(place string, headers map[string]string) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		place := place + "." + name
		value := headers[name]
		key := strings.ToLower(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			c.problem(place, "header %q: a name is one word of letters, digits and dashes", name)
		case strings.ContainsFunc(value, isControl):
			c.problem(place, "header %s: the value has characters that a header cannot hold", name)
		case slices.Contains([]string{"content-length", "transfer-encoding"}, key):
			c.problem(place, "header %s is set by the engine itself: leave it out", name)
		case seen[key] != "":
			c.problem(place, "header %s is given twice, as %s too", name, seen[key])
		}
		seen[key] = name
	}
}

// BinarySuffix is the end of the names of gRPC metadata with bytes as values.
const BinarySuffix = "-bin"

// DecodeBinary decodes such a value, which is written as base64, with or without padding.
func DecodeBinary(text string) ([]byte, error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, fmt.Errorf("metadata that ends in %s holds bytes, and %q is no base64: %w", BinarySuffix, text,
			err)
	}
	return data, nil
}

// isControl reports whether a character would end a header value early.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
