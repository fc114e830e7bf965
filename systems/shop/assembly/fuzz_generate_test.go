package assembly_test

import (
	"math"
	"math/rand/v2"
	"regexp"

	"github.com/getkin/kin-openapi/openapi3"
)

// Alphabets of generated texts: text takes the first that matches the pattern of a schema.
const (
	identifiers = "abcXYZ0189-"
	visible     = "!~aZ09-_.%/?&=#+'\"<>{}$;:"
	anything    = " éß漢字\U0001F600\u0301%_'\"\\ab C"
)

// generate makes a value that a schema allows.
func generate(schema *openapi3.Schema, random *rand.Rand) any {
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[random.IntN(len(schema.Enum))]
	case schema.Type.Is("integer"):
		return integer(schema, random)
	case schema.Type.Is("string"):
		return text(schema, random)
	case schema.Type.Is("array"):
		return array(schema, random)
	}
	return object(schema, random)
}

// integer prefers the ends of the range, and small numbers, since these are ids of things that exist.
func integer(schema *openapi3.Schema, random *rand.Rand) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if schema.Min != nil {
		low = int64(*schema.Min)
	}
	if schema.Max != nil {
		high = int64(*schema.Max)
	}
	switch random.IntN(8) {
	case 0:
		return low
	case 1:
		return high
	case 2:
		return low + random.Int64N(max(1, high/2-low/2))
	}
	return min(high, max(low, 0)+random.Int64N(12))
}

// text returns a text of the first alphabet that matches the pattern of the schema.
func text(schema *openapi3.Schema, random *rand.Rand) string {
	low, high := int(schema.MinLength), 20
	if schema.MaxLength != nil {
		high = int(*schema.MaxLength)
	}
	length := low + random.IntN(min(high, low+12)-low+1)
	if random.IntN(8) == 0 {
		length = high
	}
	for _, alphabet := range []string{anything, visible, identifiers} {
		made := letters(alphabet, length, random)
		if schema.Pattern == "" || regexp.MustCompile(schema.Pattern).MatchString(made) {
			return made
		}
	}
	return letters(identifiers, length, random)
}

func letters(alphabet string, length int, random *rand.Rand) string {
	runes := []rune(alphabet)
	made := make([]rune, length)
	for i := range made {
		made[i] = runes[random.IntN(len(runes))]
	}
	return string(made)
}

// array returns few items as a rule, and rarely as many as are allowed.
func array(schema *openapi3.Schema, random *rand.Rand) []any {
	low, high := int(schema.MinItems), 10
	if schema.MaxItems != nil {
		high = int(*schema.MaxItems)
	}
	length := min(high, low+random.IntN(4))
	if random.IntN(20) == 0 {
		length = high
	}
	made := make([]any, length)
	for i := range made {
		made[i] = generate(schema.Items.Value, random)
	}
	return made
}

func object(schema *openapi3.Schema, random *rand.Rand) map[string]any {
	made := map[string]any{}
	for _, name := range sortedKeys(schema.Properties) {
		made[name] = generate(schema.Properties[name].Value, random)
	}
	return made
}
