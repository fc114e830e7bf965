package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

// readDescription reads JSON or YAML of OpenAPI 3 or Swagger 2. The loader refuses references to other
// documents.
func readDescription(data []byte) (*openapi3.T, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if document.Kind == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a document of keys and values")
	}
	if err := keepAsWritten(document.Content[0], "", keywords); err != nil {
		return nil, err
	}
	var top map[string]any
	if err := document.Decode(&top); err != nil { // a limit for aliases, which can multiply the size
		return nil, err
	}
	text, err := json.Marshal(top)
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	if version, isSwagger := top["swagger"]; isSwagger {
		if fmt.Sprint(version) != "2" && !strings.HasPrefix(fmt.Sprint(version), "2.") {
			return nil, fmt.Errorf("swagger %v: versions 2, and OpenAPI 3, are read", version)
		}
		var old openapi2.T
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, err
		}
		return openapi2conv.ToV3WithLoader(&old, loader, nil)
	}
	if version := fmt.Sprint(top["openapi"]); !strings.HasPrefix(version, "3.") {
		return nil, fmt.Errorf("openapi %s: versions 3, and Swagger 2, are read", version)
	}
	return loader.LoadFromData(text)
}

// position is the kind of place at which a value stands in a description.
type position int

const (
	keywords position = iota // an object whose keys OpenAPI defines
	names                    // an object whose keys the author chose
	value                    // data that is sent: an example, a default, an enumeration
	servers                  // variables of a server: texts
)

// below returns the position of the value of a key.
func (at position) below(key string) position {
	switch {
	case at == value:
		return value
	case at == servers:
		return servers
	case at == names:
		return keywords
	}
	switch key {
	case "example", "examples", "default", "enum", "const", "value":
		return value
	case "variables":
		return servers
	case "properties", "patternProperties", "definitions", "$defs", "schemas", "responses", "parameters",
		"requestBodies", "headers", "callbacks":
		return names
	}
	return keywords
}

// numeric matches the keywords of schemas whose values are numbers. All other scalars outside data are
// texts or booleans.
var numeric = regexp.MustCompile(`^(minimum|maximum|exclusiveM(in|ax)imum|multipleOf|` +
	`m(in|ax)(Length|Items|Properties|Contains))$`)

// keepAsWritten marks the scalars below a node so that YAML decodes them as OpenAPI means them: keys and
// dates as texts, numbers as texts where OpenAPI expects texts, and numbers of data with all their
// digits. key is the key of the node.
func keepAsWritten(node *yaml.Node, key string, at position) error {
	if node.Kind != yaml.MappingNode {
		if at == names { // a list of parameters
			at = keywords
		}
		for _, child := range node.Content {
			if err := keepScalar(child, key, at); err != nil {
				return err
			}
		}
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, held := node.Content[i], node.Content[i+1]
		if name.Kind == yaml.AliasNode {
			name = &yaml.Node{Kind: name.Alias.Kind, Tag: name.Alias.Tag, Value: name.Alias.Value, Line: name.Line}
			node.Content[i] = name
		}
		if name.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is a list or an object, expected a text", name.Line)
		}
		if name.Tag != "!!merge" {
			name.Tag = "!!str"
		}
		if err := keepScalar(held, name.Value, at.below(name.Value)); err != nil {
			return err
		}
	}
	return nil
}

// keepScalar marks a scalar, which is the value of a key or an element of its list.
func keepScalar(node *yaml.Node, key string, at position) error {
	if node.Kind != yaml.ScalarNode {
		return keepAsWritten(node, key, at)
	}
	switch node.Tag {
	case "!!timestamp", "!!binary":
		node.Tag = "!!str"
	case "!!null":
		if key == "type" && at == keywords {
			node.Tag = "!!str"
			node.Value = openapi3.TypeNull
		}
	case "!!int", "!!float":
		switch {
		case at == value:
			node.Value = numberText(node)
			node.Tag = "!!str"
		case !numeric.MatchString(key):
			node.Tag = "!!str"
		}
	}
	return nil
}

// numberMark begins a text that represents a number, because the library keeps only 53 bits of numbers.
const numberMark = "\x00number "

// jsonNumber matches a number in JSON's form (RFC 8259, section 6).
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// leadingZero matches numbers that YAML reads as octal. Their author means a text, such as a postcode.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]`)

// numberText returns the text for a number in data: marked and in JSON's form, or as it is written if
// JSON has no such number.
func numberText(node *yaml.Node) string {
	if jsonNumber.MatchString(node.Value) {
		return numberMark + node.Value
	}
	var number float64
	if leadingZero.MatchString(node.Value) || node.Decode(&number) != nil || math.IsInf(number, 0) ||
		math.IsNaN(number) {
		return node.Value
	}
	return numberMark + strconv.FormatFloat(number, 'f', -1, 64)
}

// markedNumber returns the number that a text represents; marked is false for other texts.
func markedNumber(text string) (number json.Number, marked bool) {
	written, marked := strings.CutPrefix(text, numberMark)
	return json.Number(written), marked && jsonNumber.MatchString(written)
}
