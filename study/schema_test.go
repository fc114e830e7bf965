package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// object holds the keywords of a JSON Schema, of the whole file or of a value in it, that these tests read.
type object struct {
	Type             any
	Minimum, Maximum *float64
	Properties       map[string]*object
	Defs             map[string]*object `json:"$defs"`
	Items            *object
	Additional       json.RawMessage `json:"additionalProperties"`
}

// readSchema returns the schema of study files.
func readSchema(t *testing.T) *object {
	t.Helper()
	text, err := os.ReadFile("../docs/schema/study.schema.json")
	var schema object
	if err = errors.Join(err, json.Unmarshal(text, &schema)); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// keysIn adds the key lists of all objects of a schema, each sorted and joined by spaces, to a set.
func (o *object) keysIn(all map[string]bool) {
	if o == nil {
		return
	}
	all[strings.Join(slices.Sorted(maps.Keys(o.Properties)), " ")] = true
	for _, below := range slices.Concat(slices.Collect(maps.Values(o.Properties)),
		slices.Collect(maps.Values(o.Defs))) {
		below.keysIn(all)
	}
	o.Items.keysIn(all)
	var more object
	if json.Unmarshal(o.Additional, &more) == nil {
		more.keysIn(all)
	}
}

// TestTheSchemaHasTheKeysThatAreRead: each type that the reader fills has an object with the same keys in the
// schema, by which editors complete and check.
func TestTheSchemaHasTheKeysThatAreRead(t *testing.T) {
	known := map[string]bool{}
	readSchema(t).keysIn(known)
	for _, of := range []reflect.Type{
		reflect.TypeFor[written](), reflect.TypeFor[writtenVariant](), reflect.TypeFor[lab.Design](),
		reflect.TypeFor[lab.Gates](), reflect.TypeFor[lab.Trend](), reflect.TypeFor[lab.Claim](),
		reflect.TypeFor[lab.Load](), reflect.TypeFor[lab.SearchEffort](), reflect.TypeFor[lab.Limits](),
		reflect.TypeFor[lab.Autoscale](), reflect.TypeFor[lab.Network](), reflect.TypeFor[writtenSteps](),
		reflect.TypeFor[Quick](),
	} {
		read, _ := yamlfile.Keys(of)
		if keys := strings.Join(slices.Sorted(maps.Keys(read)), " "); !known[keys] {
			t.Errorf("no object of the schema has the keys of %s: %s", of, keys)
		}
	}
}

// TestTheSchemaHasTheLimitsThatAreChecked: a number at a limit of the schema passes, the next one does not.
func TestTheSchemaHasTheLimitsThatAreChecked(t *testing.T) {
	const head = "schema: cleave-study/1\nname: x\ntitle: x\nsystem: none\nbaseline: a\n" +
		"variants: {a: {architecture: b}}\n"
	looked := 0
	for key, p := range readSchema(t).Properties["design"].Properties {
		if p.Type != "integer" || p.Maximum == nil {
			continue
		}
		looked++
		for value, allowed := range map[float64]bool{*p.Minimum - 1: false, *p.Minimum: true, *p.Maximum: true,
			*p.Maximum + 1: false} {
			// There is always an error: no system is called none. Only those about the key count.
			_, err := Parse("x.yaml", fmt.Appendf(nil, "%sdesign: {%s: %g}\n", head, key, value), nil)
			if refused := strings.Contains(err.Error(), "x.yaml:7: design."+key); refused == allowed {
				t.Errorf("%s %g: refused %t: %v", key, value, refused, err)
			}
		}
	}
	if looked < 4 {
		t.Errorf("%d limits were looked at", looked)
	}
}
