package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
)

// TestSpansOfInvalidTrialsAreLeftOut, also if other trials left none. Incomplete traces are reported.
func TestSpansOfInvalidTrialsAreLeftOut(t *testing.T) {
	began := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return began.Add(time.Duration(minute) * time.Minute) }
	span := func(service, parent string, minute int) string {
		return fmt.Sprintf(`[{"traceId": "000102030405060708090a0b0c0d0e0f", "id": "0000000000000001", %s
			"kind": "SERVER", "name": "GET /", "timestamp": %d, "duration": 10,
			"localEndpoint": {"serviceName": %q}}]`, parent, at(minute).Add(time.Second).UnixMicro(), service)
	}
	const parent = `"parentId": "0000000000000009",`
	trials := []lab.Trial{{Variant: meteredVariant, Started: at(0)}, {Variant: followedVariant, Started: at(1)},
		{Variant: followedVariant, Started: at(2)}, {Variant: followedVariant, Started: at(3), Valid: true}}
	for name, c := range map[string]struct {
		files    map[string]string
		services string
		received bool
	}{
		"spans of an invalid and a valid trial": {map[string]string{
			"001-followed-x/s.json": span("invalid", "", 2), "002-followed-x/s.json": span("valid", "", 3)},
			"valid", true},
		"spans of an invalid trial": {map[string]string{"001-followed-x/s.json": span("invalid", "", 1)},
			"", false},
		"spans of an incomplete trace": {map[string]string{"001-followed-x/s.json": span("valid", parent, 3)},
			"", true},
		"no spans": {nil, "", false},
	} {
		dir, from := t.TempDir(), model.Evidence{}
		writeFiles(t, dir, c.files)
		var notes strings.Builder
		received, err := app{errOut: &notes}.addFollowed(&from, dir, trials, 0)
		testset.Must(t, err)
		var services []string
		for _, trace := range from.Traces {
			services = append(services, trace.Service)
		}
		if got := strings.Join(services, " "); got != c.services || received != c.received {
			t.Errorf("%s: traces of %q, received %t, want %q, %t; notes: %s", name, got, received, c.services,
				c.received, notes.String())
		}
	}
}
