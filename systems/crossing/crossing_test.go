package crossing

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// point has three callers, each of which makes seven calls.
var point = lab.Point{Name: "point", Levels: map[string]float64{"callers": 3, "calls": 7}}

// TestImpossibleCombinations: knobs that a deployment or another knob rules out are refused with the reason.
func TestImpossibleCombinations(t *testing.T) {
	for knobs, c := range map[string]struct{ deployment, want string }{
		"":                      {lab.Process, ""},
		"over=unix":             {lab.DockerBridge, ""},
		"nodes=two":             {lab.Swarm, ""},
		"nodes=two front=nginx": {lab.Kubernetes, ""},
		"over=unix front=nginx": {lab.Process, "a proxy before the callee is called over TCP"},
		"over=unix front=none":  {lab.Kubernetes, "a Unix socket does not lead from one unit of a cluster"},
		"over=unix nodes=one":   {lab.SSH, "or of hosts by SSH, to another: deploy with process, docker-host or"},
		"nodes=one":             {lab.Process, ""},
		"nodes=two over=tcp":    {lab.SSH, ""},
		"nodes=two over=unix":   {lab.Process, "a Unix socket does not lead from one node to another"},
		"reach=direct":          {lab.Kubernetes, ""},
		"reach=usual over=unix": {lab.Process, ""},
		"reach=direct over=unix": {lab.Process,
			"reach=direct: only a caller that calls the callee itself, over TCP, chooses its address"},
		"reach=direct front=nginx": {lab.Kubernetes, "leave out over and front"},
		// The space at its end distinguishes this key from one above.
		"nodes=two front=nginx ": {lab.DockerHost, "the deployment docker-host has no nodes"},
	} {
		v := lab.Variant{Architecture: HTTP, Deployment: c.deployment, Knobs: map[string]string{}}
		for _, one := range strings.Fields(knobs) {
			name, value, _ := strings.Cut(one, "=")
			v.Knobs[name] = value
		}
		err := System{}.Describe().Check(v)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", knobs, c.deployment, err, c.want)
		}
	}
}

// TestLayouts: each unit with its node, reach, volume and the units that it calls, written as
// "unit@node!reach/volume>called".
func TestLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		knobs map[string]string
		want  string
	}{
		"loopback": {nil, "caller>callee callee"},
		"on one":   {map[string]string{"nodes": "one"}, "caller@node-1>callee callee@node-1"},
		"on two": {map[string]string{"nodes": "two", "front": "nginx"},
			"caller@node-1>front callee@node-2 front@node-2>callee"},
		"a proxy":   {map[string]string{"front": "haproxy"}, "caller>front callee front>callee"},
		"published": {map[string]string{"reach": "published"}, "caller>callee callee!published"},
		"its own": {map[string]string{"nodes": "two", "reach": "direct"},
			"caller@node-1>callee callee@node-2!direct"},
		"a socket": {map[string]string{"over": "unix"}, "caller/sockets>callee callee/sockets"},
	} {
		layout, err := System{}.Layout(lab.Variant{Architecture: HTTP, Knobs: c.knobs}, point, 1)
		testset.Must(t, err)
		var units []string
		for _, u := range layout.Units {
			text := u.Name
			if u.Node != "" {
				text += "@" + u.Node
			}
			if u.Reached != lab.ReachUsual {
				text += "!" + string(u.Reached)
			}
			if u.Volume != "" {
				text += "/" + u.Volume
			}
			units = append(units, strings.Join(append([]string{text}, u.Peers...), ">"))
		}
		if got := strings.Join(units, " "); got != c.want || layout.Operations != 21 || layout.Lead != RoleCaller {
			t.Errorf("%s: %s, %d operations, led by %s; want %s", name, got, layout.Operations, layout.Lead, c.want)
		}
	}
}

// TestAudit: all calls must be right, and as many served as made.
func TestAudit(t *testing.T) {
	good := map[string]Account{RoleCaller: {Right: 21, Before: 4}, RoleCallee: {Served: 25}}
	for name, c := range map[string]struct {
		change  func(map[string]Account)
		want    lab.AuditVerdict
		problem string
	}{
		"as it should be": {func(map[string]Account) {}, lab.AuditValid, ""},
		"an answer is lost": {func(a map[string]Account) { a[RoleCaller] = Account{Right: 20, Before: 5} },
			lab.AuditInvalid, "20 calls were right and 0 wrong, of 21"},
		"another text": {func(a map[string]Account) {
			a[RoleCaller] = Account{Right: 20, Wrong: 1, Before: 4}
		}, lab.AuditInvalid, "20 calls were right and 1 wrong"},
		"a call is doubled": {func(a map[string]Account) { a[RoleCallee] = Account{Served: 26} }, lab.AuditInvalid,
			"served 26 calls, and 25 were made"},
		"no report of the callee": {func(a map[string]Account) { delete(a, RoleCallee) }, lab.AuditUnknown,
			"no report of [callee]"},
	} {
		accounts := map[string]Account{}
		for unit, account := range good {
			accounts[unit] = account
		}
		c.change(accounts)
		var reports []lab.UnitReport
		for unit, account := range accounts {
			text, err := json.Marshal(account)
			testset.Must(t, err)
			reports = append(reports, lab.UnitReport{Unit: unit, Data: text})
		}
		audit := System{}.Audit(lab.Variant{Architecture: HTTP}, point, reports)
		if audit.Verdict != c.want || c.problem != "" &&
			!slices.ContainsFunc(audit.Problems, func(p string) bool { return strings.Contains(p, c.problem) }) {
			t.Errorf("%s: %+v", name, audit)
		}
	}
}
