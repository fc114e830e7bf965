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
	span := func(id int, service string, minute int) string {
		return fmt.Sprintf(`{"traceId": "000102030405060708090a0b0c0d0e0f", "id": "%016x", "kind": "SERVER",
			"name": "GET /", "timestamp": %d, "duration": 10, "localEndpoint": {"serviceName": %q}}`, id,
			at(minute).Add(time.Second).UnixMicro(), service)
	}
	trace := func(service string, minute int) string { return "[" + span(1, service, minute) + "]" }
	twoRoots := func(minute int) string { // what both belong to is missing
		return "[" + span(1, "incomplete", minute) + "," + span(2, "incomplete", minute) + "]"
	}
	trials := []lab.Trial{{Variant: meteredVariant, Started: at(0)}, {Variant: followedVariant, Started: at(1)},
		{Variant: followedVariant, Started: at(2)}, {Variant: followedVariant, Started: at(3), Valid: true}}
	for name, c := range map[string]struct {
		files    map[string]string
		services string
		received bool
	}{
		"spans of an invalid and a valid trial": {map[string]string{
			"1-followed-x/s.json": trace("invalid", 2), "2-followed-x/s.json": trace("valid", 3)},
			"valid", true},
		"spans of an invalid trial": {map[string]string{"1-followed-x/s.json": trace("invalid", 1)}, "", false},
		"an incomplete trace":       {map[string]string{"1-followed-x/s.json": twoRoots(3)}, "", true},
		"one of an invalid trial":   {map[string]string{"1-followed-x/s.json": twoRoots(2)}, "", false},
		"no spans":                  {nil, "", false},
	} {
		dir := t.TempDir()
		from := model.Evidence{}
		writeFiles(t, dir, c.files)
		var notes strings.Builder
		received, err := app{errOut: &notes}.addFollowed(&from, dir, trials, 0)
		testset.Must(t, err)
		var services []string
		for _, root := range from.Traces {
			services = append(services, root.Service)
		}
		if got := strings.Join(services, " "); got != c.services || received != c.received {
			t.Errorf("%s: traces of %q, received %t, want %q, %t; notes: %s", name, got, received, c.services,
				c.received, notes.String())
		}
	}
}
