package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPricesAreReadStrictly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	for name, c := range map[string]struct{ text, mistake string }{
		"all of it": {"schema: cleave-prices/1\ncurrency: EUR\ncore_hour: 0.04\nmemory_gib_hour: 0\n", ""},
		"another schema": {"schema: cleave-prices/2\ncurrency: EUR\ncore_hour: 1\nmemory_gib_hour: 1\n",
			`prices.yaml:1: schema is "cleave-prices/2"`},
		"a mistyped key": {"schema: cleave-prices/1\ncurrency: EUR\ncore_hours: 1\nmemory_gib_hour: 1\n",
			"prices.yaml:3: "},
		"a missing key": {"schema: cleave-prices/1\ncurrency: EUR\ncore_hour: 1\n",
			`the price list needs the key "memory_gib_hour"`},
		"a price below 0": {"schema: cleave-prices/1\ncurrency: EUR\ncore_hour: 1\nmemory_gib_hour: -1\n",
			`prices.yaml:4: memory_gib_hour is -1: give`},
		"two prices below 0, in their order": {
			"{schema: cleave-prices/1, currency: EUR, core_hour: -1, memory_gib_hour: -1}\n",
			"prices.yaml:1: core_hour is -1: give a number that is 0 or more\n"},
		"no number": {"schema: cleave-prices/1\ncurrency: EUR\ncore_hour: cheap\nmemory_gib_hour: .inf\n",
			`prices.yaml:4: memory_gib_hour is ".inf"`},
		"no currency": {"schema: cleave-prices/1\ncurrency: \"\"\ncore_hour: 1\nmemory_gib_hour: 1\n",
			`prices.yaml:2: currency is ""`},
		"a long currency": {"schema: cleave-prices/1\ncurrency: doubloons\ncore_hour: 1\nmemory_gib_hour: 1\n",
			"prices.yaml:2: currency"},
		"a list": {"- 1\n", "prices.yaml:1: the price list is a list, expected keys with values"},
		"two times": {"schema: cleave-prices/1\ncore_hour: 1\ncore_hour: 2\n",
			`prices.yaml:3: the price list has the key "core_hour" twice`},
		"nothing": {"", "prices.yaml"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		prices, err := readPrices(path)
		switch {
		case c.mistake == "" && (err != nil || prices.Core != 0.04 || prices.Currency != "EUR"):
			t.Errorf("%s: read %+v, %v", name, prices, err)
		case c.mistake != "" && (err == nil || !strings.Contains(err.Error(), c.mistake) ||
			exitCode(err) != exitBadPlan):
			t.Errorf("%s: the mistake is reported as %v, want %q and exit code 2", name, err, c.mistake)
		}
	}
}

// TestACurrencyHasCharactersNotBytes: a currency may have eight characters, even if they are more than eight
// bytes.
func TestACurrencyHasCharactersNotBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	const text = "schema: cleave-prices/1\ncurrency: грн/міс.\ncore_hour: 1\nmemory_gib_hour: 1\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if prices, err := readPrices(path); err != nil || prices.Currency != "грн/міс." {
		t.Errorf("read %+v, %v", prices, err)
	}
}
