package system

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/session"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

func TestAMonolithHasNoCallsToProtect(t *testing.T) {
	_, err := architecture.New(architecture.Monolith, map[string]string{kit.KnobSecurity: kit.TLS})
	if err == nil || !strings.Contains(err.Error(), "security tls has no effect") {
		t.Errorf("New: %v", err)
	}
}

// TestBalancingNeedsReplicas: the knob is refused unless a unit that others call has replicas.
func TestBalancingNeedsReplicas(t *testing.T) {
	v := lab.Variant{Architecture: architecture.Services, Knobs: map[string]string{
		kit.KnobBalancing: kit.TwoChoices}}
	at := lab.Point{Name: "p", Levels: map[string]float64{lab.FactorUsers: 3}}
	for unit, refused := range map[string]bool{"": true, architecture.UnitFront: true, parts.PostsName: false} {
		v.Replicas = map[string]int{unit: 2}
		if _, err := (System{Generator: &loadedtest.Generator{}}).Layout(v, at, 5); (err != nil) != refused {
			t.Errorf("two replicas of %q: %v, want refused: %t", unit, err, refused)
		}
	}
}

// TestAThirdPartyIsNoCost of the system: its usage is left out. Only the unit with media calls it.
func TestAThirdPartyIsNoCost(t *testing.T) {
	v := lab.Variant{Architecture: architecture.Services, Knobs: map[string]string{"media_check": "third-party",
		"sidecar": "haproxy"}}
	s := System{Generator: played()}
	layout, err := s.Layout(v, lab.Point{Name: "p", Levels: map[string]float64{lab.FactorRate: 10}}, 1)
	testset.Must(t, err)
	var callers []string
	for _, u := range layout.Units {
		if slices.Contains(u.Peers, thirdparty.Name) {
			callers = append(callers, u.Name)
		}
		if u.Name == thirdparty.Name && (u.Uses == nil || len(u.Uses) > 0) {
			t.Errorf("the third party uses %v of the system, want an empty list", u.Uses)
		}
	}
	if !slices.Equal(callers, []string{parts.MediaName}) {
		t.Errorf("the third party is called by %v", callers)
	}
	tr := newTrial(t)
	found, err := s.Measure(t.Context(), v, tr.point, lab.Metered{Roles: map[string]lab.Usage{
		parts.MediaName: {CPUSeconds: 1, PeakMemoryBytes: 5}, thirdparty.Name: {CPUSeconds: 2, PeakMemoryBytes: 7},
	}}, tr.left)
	testset.Must(t, err)
	cpu, memory := found.Values[loaded.CPUPerOperation], found.Values["peak_memory"]
	if cpu != 0.1 || memory != 5 {
		t.Errorf("ten requests cost %g s each and %g bytes", cpu, memory)
	}
}

func TestLayouts(t *testing.T) {
	var g loadedtest.Generator
	s := System{Generator: &g}
	point := lab.Point{Name: "p", Levels: map[string]float64{lab.FactorRate: 10}}
	for name, c := range map[string]struct {
		variant  lab.Variant
		units    int // with the generator
		front    string
		services []string
		scalable []string
	}{
		"monolith": {lab.Variant{Architecture: architecture.Monolith}, 2, social.Name, []string{"sqlite"},
			[]string{social.Name}},
		"monolith by events of RabbitMQ": {lab.Variant{Architecture: architecture.Monolith,
			Knobs: map[string]string{"fan_out_by": "events", "broker": "rabbitmq"}}, 2, social.Name,
			[]string{"sqlite", "rabbitmq"}, nil},
		"services": {lab.Variant{Architecture: architecture.Services}, 12, architecture.UnitFront,
			[]string{"sqlite"},
			[]string{"compose", "front", "home-timelines", "media", "posts", "short-urls", "social-graph", "texts",
				"unique-ids", "user-timelines", "users"}},
		"by events": {lab.Variant{Architecture: architecture.Services,
			Knobs: map[string]string{"fan_out_by": "events", "broker": "rabbitmq"}}, 12, architecture.UnitFront,
			[]string{"sqlite", "rabbitmq"},
			[]string{"compose", "front", "home-timelines", "media", "posts", "short-urls", "social-graph", "texts",
				"unique-ids", "user-timelines", "users"}},
		"servers": {lab.Variant{Architecture: architecture.Services,
			Knobs: map[string]string{"documents": "mongo", "cache": "look-aside", "cache_store": "redis",
				"front": "nginx", "fan_out": "read", "media_check": "third-party", "timeline_cache": "memory"}},
			14, "nginx", []string{"mongo", "redis"},
			[]string{"compose", "front", "home-timelines", "media", "nginx", "posts", "short-urls", "social-graph",
				"texts", "unique-ids", "users"}},
	} {
		t.Run(name, func(t *testing.T) {
			layout, err := s.Layout(c.variant, point, 1)
			testset.Must(t, err)
			var services, scalable []string
			for _, service := range layout.Services {
				services = append(services, service.Kind)
			}
			for _, unit := range layout.Units {
				if unit.Scalable {
					scalable = append(scalable, unit.Name)
				}
			}
			slices.Sort(scalable)
			if len(layout.Units) != c.units || g.Job.Unit != c.front || !slices.Equal(services, c.services) ||
				!slices.Equal(scalable, c.scalable) {
				t.Errorf("%d units, %s in front, services %v, scalable %v", len(layout.Units), g.Job.Unit, services,
					scalable)
			}
		})
	}
}

// TestFewUsersHaveFewerLinks: a point that does not set its links gets no more than its users can have, which
// is half of all possible ones (population.MostLinks).
func TestFewUsersHaveFewerLinks(t *testing.T) {
	at := lab.Point{Name: "p", Levels: map[string]float64{lab.FactorRate: 10}}
	for users, want := range map[float64]int{20: 95, 79: 1540, 80: 1564, 962: 18_812, 2000: 39_110} {
		at.Levels[Users] = users
		if _, got := sizeOf(at); got != want {
			t.Errorf("%g users have %d links, want %d", users, got, want)
		}
	}
	at.Levels[Users] = 20
	at.Levels[Links] = 96
	_, err := System{Generator: &loadedtest.Generator{}}.Layout(
		lab.Variant{Architecture: architecture.Monolith}, at, 5)
	if err == nil || !strings.Contains(err.Error(), "has 96 links: 20 users can have up to 95") {
		t.Errorf("96 links of 20 users: %v", err)
	}
}

// TestOperationsOfAPoint checks the flows that each level of only and logins plays, and their weights.
func TestOperationsOfAPoint(t *testing.T) {
	for only, want := range map[float64][]string{0: {readHome, readUser, compose}, 1: {readHome}, 2: {readUser},
		3: {compose}, 4: {logIn}} {
		weights := weightsAt(t, map[string]float64{Only: only})
		if got := slices.Sorted(maps.Keys(weights)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%g plays %v, want %v", only, got, want)
		}
		if only == 0 && (weights[readHome] != 6*weights[compose] || weights[readUser] != 3*weights[compose]) {
			t.Errorf("the mix is %v", weights)
		}
	}
	for _, logins := range []float64{2.5, 0.05} {
		weights := weightsAt(t, map[string]float64{Logins: logins})
		if share := weights[logIn] / weights[compose]; math.Abs(share/(logins/10)-1) > 1e-9 {
			t.Errorf("of the mix with %g logins for a hundred requests the weights are %v", logins, weights)
		}
	}
	for _, levels := range []map[string]float64{{Only: 5}, {Only: 1, Logins: 1}} {
		if _, err := flows(lab.Point{Levels: levels}); err == nil {
			t.Errorf("%v is played", levels)
		}
	}
}

// weightsAt returns the weights of the operations at a point.
func weightsAt(t *testing.T, levels map[string]float64) map[string]float64 {
	t.Helper()
	text, _, err := scenario(lab.Point{Levels: levels}, 1)
	testset.Must(t, err)
	var made struct {
		Flows []struct {
			Weight float64
			Steps  []struct{ Name string }
		}
	}
	testset.Must(t, json.Unmarshal(text, &made))
	weights := map[string]float64{}
	for _, flow := range made.Flows {
		weights[flow.Steps[0].Name] += flow.Weight
	}
	return weights
}

// TestTheLoadHasTokens of all users, which the front accepts. Only the front and the unit where users log in
// have the key.
func TestTheLoadHasTokens(t *testing.T) {
	var g loadedtest.Generator
	layout, err := System{Generator: &g}.Layout(lab.Variant{Architecture: architecture.Services},
		lab.Point{Name: "p", Levels: map[string]float64{lab.FactorRate: 10, Users: 20, Links: 40}}, 7)
	testset.Must(t, err)
	var withKey []string
	for _, u := range layout.Units {
		if u.Files[socialunit.KeyFile] != nil {
			withKey = append(withKey, u.Name)
		}
	}
	if slices.Sort(withKey); !slices.Equal(withKey, []string{architecture.UnitFront, parts.UsersName}) {
		t.Fatalf("the key is in %v", withKey)
	}
	signer, err := session.NewSigner(layout.Units[0].Files[socialunit.KeyFile])
	testset.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(g.Job.Files["users.csv"])), "\n")
	if len(lines) != 21 {
		t.Fatalf("%d lines for 20 users", len(lines))
	}
	for i, line := range lines[1:] {
		id, token, _ := strings.Cut(line, ",")
		if user, err := signer.Check(token); err != nil || user.GetId() != id || id != strconv.Itoa(i+1) ||
			user.GetName() != "user_"+id {
			t.Errorf("the token of user %s is that of %v (%v)", id, user, err)
		}
	}
}

// TestSteps checks the order of the steps: what only calls can have is turned off before units are joined,
// and what only a fan-out on write can have before the fan-out moves to reads.
func TestSteps(t *testing.T) {
	from := lab.Variant{Architecture: architecture.Monolith}
	stops, got := loadedtest.Steps(t, System{}, from, lab.Variant{Architecture: architecture.Services,
		Knobs: map[string]string{"cache": "look-aside"}})
	if got != "placement together -> apart, cache off -> look-aside" || stops[2].Name != architecture.Services {
		t.Errorf("the steps are %s, the stops are %+v", got, stops)
	}
	if _, _, err := (System{}).Steps(from, from); err == nil {
		t.Error("steps lead from a variant to itself")
	}
	services := func(knob, value string) lab.Variant {
		return lab.Variant{Architecture: architecture.Services, Knobs: map[string]string{knob: value}}
	}
	_, joined := loadedtest.Steps(t, System{}, services(kit.KnobSecurity, kit.TLS), from)
	_, gathered := loadedtest.Steps(t, System{}, services(architecture.KnobFanOutBy, architecture.ByEvents),
		services(architecture.KnobFanOut, architecture.OnRead))
	if joined != "security tls -> none, placement apart -> together" ||
		gathered != "fan_out_by events -> calls, fan_out write -> read" {
		t.Errorf("steps that wait for others: %s; %s", joined, gathered)
	}
}
