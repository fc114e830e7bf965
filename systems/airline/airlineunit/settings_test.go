package airlineunit

import (
	"strings"
	"testing"
)

// TestAMissingKeyIsTheOnlyMistake: units with signed sessions do not need the address of auth, even if their
// key cannot be read.
func TestAMissingKeyIsTheOnlyMistake(t *testing.T) {
	environment := map[string]string{"AIRLINE_UNIT": UnitFlights, "AIRLINE_DATA": "folder",
		"AIRLINE_SESSIONS": "token", "AIRLINE_KEY": t.TempDir() + "/missing"}
	_, err := Read(func(name string) string { return environment[name] })
	if err == nil || !strings.Contains(err.Error(), "AIRLINE_KEY") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one mistake, in AIRLINE_KEY", err)
	}
}
