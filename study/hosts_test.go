package study_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// withHosts returns a study whose variant b has units on the host yard and, in a swarm, on street. hosts is
// the study's key of this name, own that of the variant.
func withHosts(hosts, own string) []byte {
	text := strings.Replace(string(kioskStudy("")), "b: {architecture: stand,",
		"b: {architecture: stand, nodes: {door: yard}, deployed: {swarm: {nodes: {till: street}}}, "+own, 1)
	return []byte(strings.Replace(text, "variants:\n", hosts+"variants:\n", 1))
}

// TestLinksOfHosts: each variant gets the study's links of its hosts, unless it has its own.
func TestLinksOfHosts(t *testing.T) {
	const both = "hosts:\n  yard: {rate: 1MB, delay: 2ms}\n  street: {rate: 2MB}\n"
	yard := lab.Network{Rate: 1e6, Delay: 0.002}
	street := lab.Network{Rate: 2e6}
	for name, c := range map[string]struct {
		hosts, own, deployment string
		want                   map[string]lab.Network
	}{
		"the study's": {both, "", "", map[string]lab.Network{"yard": yard}},
		"in a swarm":  {both, "", lab.Swarm, map[string]lab.Network{"yard": yard, "street": street}},
		"its own": {"", "hosts: {yard: {rate: 1MB, delay: 2ms}},", "",
			map[string]lab.Network{"yard": yard}},
		"its own for one": {both, "hosts: {yard: {rate: 2MB}},", "", map[string]lab.Network{"yard": street}},
		"its own, of which one is only in a swarm": {"", "hosts: {yard: {rate: 2MB}, street: {rate: 2MB}},", "",
			map[string]lab.Network{"yard": street}},
	} {
		t.Run(name, func(t *testing.T) {
			file := parsed(t, withHosts(c.hosts, c.own), kiosk())
			s := resolved(t, file, study.Options{Deployment: c.deployment})
			a, _ := s.Variant("a")
			b, _ := s.Variant("b")
			if !reflect.DeepEqual(b.Hosts, c.want) || a.Hosts != nil {
				t.Errorf("links %v of b and %v of a, want %v and none", b.Hosts, a.Hosts, c.want)
			}
			if !strings.Contains(b.Summary, "link of yard: ") {
				t.Errorf("its summary is %q", b.Summary)
			}
		})
	}
}

// TestLinksFollowUnitsThatADeploymentMoves: a host that has lost its units has no link, and the summary names
// the hosts of this deployment only.
func TestLinksFollowUnitsThatADeploymentMoves(t *testing.T) {
	for what, c := range map[string]struct{ hosts, own string }{
		"the study": {"hosts: {yard: {rate: 1MB}, street: {rate: 2MB}}\n", ""},
		"a variant": {"", "hosts: {yard: {rate: 1MB}, street: {rate: 2MB}},"},
	} {
		text := strings.Replace(string(withHosts(c.hosts, c.own)), "{till: street}", "{door: street}", 1)
		s := resolved(t, parsed(t, []byte(text), kiosk()), study.Options{Deployment: lab.Swarm})
		b, _ := s.Variant("b")
		if want := map[string]lab.Network{"street": {Rate: 2e6}}; !reflect.DeepEqual(b.Hosts, want) {
			t.Errorf("links of %s: %v, want %v", what, b.Hosts, want)
		}
		if want := "on a corner; door on street; link of street: at most 2 MB/s"; b.Summary != want {
			t.Errorf("links of %s: the summary is %q, want %q", what, b.Summary, want)
		}
	}
}

func TestMistakesInHostsAreNamedWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct{ hosts, own, says string }{
		"of no variant": {"hosts:\n  yrad: {rate: 1MB}\n", "",
			`: hosts: the study places no unit on "yrad" (nodes)`},
		"not of the variant": {"", "hosts: {lane: {rate: 1MB}},",
			`: hosts: variant b places no unit on "lane" (nodes)`},
		"nothing":        {"hosts:\n  yard: {}\n", "", ": host yard: its link has neither a rate nor a delay"},
		"no number":      {"hosts:\n  yard: {rate: fast}\n", "", `: hosts.yard.rate is "fast", expected bytes per second`},
		"something else": {"hosts:\n  yard: {loss: 1%}\n", "", "loss"},
	} {
		t.Run(name, func(t *testing.T) {
			text := withHosts(c.hosts, c.own)
			_, err := study.Parse("kiosk.yaml", text, kiosk())
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "kiosk.yaml:") {
				t.Errorf("Parse: %v, want a line and %q", err, c.says)
			}
		})
	}
}
