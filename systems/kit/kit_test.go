package kit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// catalogue returns the catalogue of a bakery.
func catalogue() Catalogue {
	return Catalogue{System: "the bakery", Knobs: []lab.Knob{
		{Name: "oven", Values: []string{"stone", "steel"}},
		{Name: "flour", Values: []string{"wheat", "rye"}},
		{Name: "loaves", Values: []string{"8"}, Free: true},
	}, Presets: []Preset{{Name: "village"}, {Name: "town", Settings: map[string]string{"oven": "steel"}}}}
}

// textOf returns a value as text, or the error if there is one.
func textOf(value any, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(value)
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		architecture string
		turned       map[string]string
		want         string
	}{
		"first values":   {"village", nil, "map[flour:wheat loaves:8 oven:stone]"},
		"its own values": {"town", nil, "map[flour:wheat loaves:8 oven:steel]"},
		"turned": {"town", map[string]string{"oven": "stone", "loaves": "9"},
			"map[flour:wheat loaves:9 oven:stone]"},
		"no such one": {"city", nil, `the bakery has no architecture "city": use one of village, town`},
		"every mistake": {"town", map[string]string{"oven": "gas", "yeast": "dry"},
			"architecture town: oven is \"gas\": use one of stone, steel\nthere is no knob \"yeast\""},
	} {
		if got := textOf(catalogue().Settings(c.architecture, c.turned)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAnArchitecturesOwnValuesAreFirst(t *testing.T) {
	if got := catalogue().All()[1].Knobs[0].Values; fmt.Sprint(got) != "[steel stone]" {
		t.Errorf("the ovens of a town are listed as %v", got)
	}
	changes := catalogue().Changes(lab.Variant{Architecture: "village"}, lab.Variant{Architecture: "town"})
	if fmt.Sprint(changes) != "[oven stone -> steel]" {
		t.Errorf("changes %v", changes)
	}
}

// TestOnBackings: a kind turns the first of the named knobs that has it as a value, and no other knob.
func TestOnBackings(t *testing.T) {
	c := catalogue()
	c.Knobs = append(c.Knobs, lab.Knob{Name: "crumbs", Values: []string{"rye", "steel", "panko"}})
	c.Knobs = append([]lab.Knob{{Name: "seeds", Values: []string{"wheat", "rye", "sesame"}}}, c.Knobs...)
	for kinds, want := range map[string]string{
		"":            "map[]",
		"rye":         "map[flour:rye]",
		"rye steel":   "map[flour:rye oven:steel]",
		"rye rye":     "map[flour:rye]",
		"panko steel": "map[crumbs:panko oven:steel]",
		"rye wheat":   "rye and wheat are both for the flour: choose one",
		"sesame": `the bakery has no use for the backing "sesame": use one of panko, rye, steel, stone, ` +
			"wheat",
	} {
		if got := textOf(c.OnBackings(lab.Variant{Architecture: "village"}, strings.Fields(kinds), "oven", "flour",
			"crumbs")); got != want {
			t.Errorf("%s: %s, want %s", kinds, got, want)
		}
	}
}

// TestOnBackingsRefusesInvalidVariants, even if the backing itself would fit.
func TestOnBackingsRefusesInvalidVariants(t *testing.T) {
	for want, v := range map[string]lab.Variant{
		`the bakery has no architecture "city"`: {Architecture: "city"},
		`oven is "gas"`:                         {Architecture: "town", Knobs: map[string]string{"oven": "gas"}},
	} {
		turned, err := catalogue().OnBackings(v, []string{"rye"}, "flour")
		if turned != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the settings are %v: %v, want %s", turned, err, want)
		}
	}
}

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		Together: "[[a b c]]",
		Apart:    "[[a] [b] [c]]",
		"b+a,c":  "[[b a] [c]]",
		"b":      "[[b] [a c]]",
		"b,a+a":  `placement "b,a+a" names a twice`,
		"a,b+a,d": `placement "a,b+a,d" names a twice` + "\n" +
			`placement "a,b+a,d" names "d": use together, apart, or groups of a, b, c`,
	} {
		if got := textOf(Place(text, []string{"a", "b", "c"})); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestPlaceBehind(t *testing.T) {
	for text, want := range map[string]string{
		Together:       "[{bakery [a b c d]}]",
		Apart:          "[{door []} {a [a]} {b [b]} {c [c]} {d [d]}]",
		"b+a,door":     "[{door []} {b-a [b a]} {c-d [c d]}]",
		"door+b":       "[{door [b]} {a-c-d [a c d]}]",
		"b":            "[{door [a c d]} {b [b]}]",
		"c+d,b+door":   "[{door [b]} {c-d [c d]} {a [a]}]",
		"d+c+b+a+door": "[{bakery [d c b a]}]",
		"a+b+c+d":      "[{door []} {a-and-3 [a b c d]}]",
		"a,b+e":        `placement "a,b+e" names "e": use together, apart, or groups of door, a, b, c, d`,
		"a+b+c+d,a":    `placement "a+b+c+d,a" names a twice`,
	} {
		units, err := PlaceBehind(text, "door", "bakery", []string{"a", "b", "c", "d"})
		if got := textOf(units, err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if err == nil && !slices.Contains(units.Hosting("c").Components, "c") {
			t.Errorf("%s: c is said to be in %v", text, units.Hosting("c"))
		}
	}
	units := Units{{Name: "door"}}
	if _, err := units.Named("window"); err == nil {
		t.Error("a unit is found that does not exist")
	}
	if found, err := units.Named("door"); err != nil || found.Name != "door" {
		t.Errorf("the door is %v, %v", found, err)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "20": "20", "0": `loaves is "0": use 1 to 20`,
		"21": `loaves is "21": use 1 to 20`, "x": `loaves is "x": use 1 to 20`} {
		if got := textOf(Number(map[string]string{"loaves": text}, "loaves", 20)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestTracedShare(t *testing.T) {
	for text, want := range map[string]float64{SpansOn: 1.0 / 32, SpansOff: 0, SpansAll: 1, "0": 0, "0.5": 0.5,
		"1": 1} {
		if got, err := TracedShare(map[string]string{KnobSpans: text}); err != nil || got != want {
			t.Errorf("spans %q: %g (%v), want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "-0.1", "NaN", "some"} {
		if _, err := TracedShare(map[string]string{KnobSpans: text}); err == nil ||
			!strings.Contains(err.Error(), "a share from 0 to 1") {
			t.Errorf("spans %q: %v", text, err)
		}
	}
	if got := Spans(SpansOn, "orders").Values; fmt.Sprint(got) != "[on off all]" {
		t.Errorf("values %v", got)
	}
}

// TestKnobsOfCallsNeedCalls: in a system of one unit, each value but the first of each knob is refused.
func TestKnobsOfCallsNeedCalls(t *testing.T) {
	for _, k := range CallKnobs() {
		for i, value := range k.Values {
			settings := map[string]string{k.Name: value}
			alone := CheckCalls(settings, 1)
			several := CheckCalls(settings, 2)
			if (alone == nil) != (i == 0) || several != nil || AddsToCalls(k.Name, value) != (i > 0) {
				t.Errorf("%s=%s: %v in one unit, %v in two", k.Name, value, alone, several)
			}
			if alone != nil && !strings.Contains(alone.Error(), k.Name+" "+value+" has no effect") {
				t.Errorf("%s=%s: %v", k.Name, value, alone)
			}
		}
	}
	if err := CheckCalls(nil, 1); err != nil || !IsOfCalls(KnobSecurity) || IsOfCalls(KnobLogging) {
		t.Errorf("no settings: %v, or a knob is taken for another kind", err)
	}
}
