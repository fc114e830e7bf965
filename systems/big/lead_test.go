package big

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

// idle is Workers with nothing to do.
type idle struct{}

func (idle) Gather() error      { return nil }
func (idle) KickOff() error     { return nil }
func (idle) AwaitFinish() error { return nil }
func (idle) Dismiss() error     { return nil }
func (idle) Account() Account   { return Account{Core: &CoreAccount{}} }

// TestUnitsHandOverTheirProfiles, cores and workers, before they report, if their deployer wants profiles.
func TestUnitsHandOverTheirProfiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unit.profile.pprof")
	for _, c := range []struct{ role, profile, want string }{
		{RoleCore, "", "ready finished report"},
		{RoleCore, path, "ready finished file report"},
		{RoleWorker, "", "report"},
		{RoleWorker, path, "file report"},
	} {
		t.Setenv(lab.ProfileVariable, c.profile)
		var out bytes.Buffer
		channel := unit.NewChannel(strings.NewReader(`{"command":"start"} {"command":"stop"}`), &out)
		testset.Must(t, PlayUnit(channel, `{"role":"`+c.role+`"}`,
			func(UnitJob) (Workers, error) { return idle{}, nil },
			func(UnitJob) (Account, error) { return Account{}, nil }))
		var kinds []string
		for events := json.NewDecoder(&out); events.More(); {
			var event lab.Event
			testset.Must(t, events.Decode(&event))
			kinds = append(kinds, string(event.Event))
			if event.Event == lab.EventFile && !strings.Contains(string(event.Data), `"unit.profile.pprof"`) {
				t.Errorf("%s: it hands over %s", c.role, event.Data)
			}
		}
		if got := strings.Join(kinds, " "); got != c.want {
			t.Errorf("%s with the profile %q: the events are %q, want %q", c.role, c.profile, got, c.want)
		}
	}
}
