package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
)

// namespacesOf returns the namespaces of conductors on a cluster.
func namespacesOf(t *testing.T, f *userstest.Cluster) []string {
	t.Helper()
	var list struct{ Items []api.Object }
	if err := f.API.Do(t.Context(), http.MethodGet, "/api/v1/namespaces?labelSelector=cleave.run", nil,
		&list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	return names
}

// TestTheSameRunsOnTheUsersKubernetes: the same checks run on a cluster that the user names. What is
// impossible there is an error before anything is created. Long because all cases use one cluster.
func TestTheSameRunsOnTheUsersKubernetes(t *testing.T) {
	f := userstest.New(t)
	guest := map[string]string{kubernetes.ConfigVariable: f.Guest(t)}
	before := f.State(t)
	for _, c := range []struct {
		name, args string
		other      map[string]string
		code       int
		says       []string
	}{
		{"units and their server, of this host, are killed", "check shop --architecture monolith,sync " +
			"--operations 300 --backing mariadb --deploy kubernetes --fault kill:every-unit " +
			"--fault restart:database", nil, exitFine,
			[]string{"monolith      valid", "sync          valid", "2 of 2", "7 of 7"}},
		{"a unit and its server are cut off", "check shop --architecture sync --operations 300 " +
			"--backing mariadb --deploy kubernetes --fault cut:inventory+2s --fault cut:database", nil, exitFine,
			[]string{"sync          valid", "2 of 2"}},
		{"files of this host", "check shop --architecture sync --deploy kubernetes", nil, exitMissingPart,
			[]string{"a folder of this host, which the nodes of theirs do not have", "such as postgres"}},
		{"a fault that needs root on nodes",
			"check shop --architecture sync --deploy kubernetes --fault slow:inventory,delay=1ms", nil, exitBadPlan,
			[]string{"cannot do it; it can: [kill restart pause cut]"}},
		{"a context that is not there", "check shop --architecture sync --deploy kubernetes --context other", nil,
			exitBadPlan, []string{`the context "other"`, `["theirs"]`}},
		{"an invalid registry", "check shop --architecture sync --deploy kubernetes --registry host", nil,
			exitBadPlan, []string{"HOST/PATH"}},
		{"a user without permissions", "check shop --architecture sync --deploy kubernetes", guest, exitMissingPart,
			[]string{"theirs does not let you create namespaces", "create pods/portforward", "administrator"}},
		{"a user with a wrong token", "check shop --architecture sync --deploy kubernetes",
			map[string]string{kubernetes.ConfigVariable: f.Config(t, f.API.Address(), "{token: none}")},
			exitMissingPart, []string{"Unauthorized", "who the kubeconfig says you are"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := onUserCluster(t, f.Variables, c.other, c.args)
			expectRun(t, command, c.code, c.says)
			if changes := before.Changes(f.State(t)); changes != "" {
				t.Errorf("objects of the user have changed:\n%s", changes)
			}
		})
	}
	t.Run("services of files", func(t *testing.T) {
		compareOnUserCluster(t, f.Variables, "kubernetes")
		if changes := before.Changes(f.State(t)); changes != "" {
			t.Errorf("objects of the user have changed:\n%s", changes)
		}
	})
	t.Run("a conductor that is killed", func(t *testing.T) { expectClusterCleaned(t, f) })
}

// expectClusterCleaned kills a conductor when it has a pod, and checks that the sweeper removes its
// namespace.
func expectClusterCleaned(t *testing.T, f *userstest.Cluster) {
	conductor := onUserCluster(t, f.Variables, nil,
		"check shop --architecture sync --operations 20000 --backing mariadb --deploy kubernetes")
	hasPod := func() bool {
		for _, name := range namespacesOf(t, f) {
			var list struct{ Items []api.Object }
			if err := f.API.Do(t.Context(), http.MethodGet, "/api/v1/namespaces/"+name+"/pods", nil,
				&list); err != nil {
				t.Fatal(err)
			}
			if len(list.Items) > 0 {
				return true
			}
		}
		return false
	}
	killWhen(t, conductor, "there is a pod", hasPod)
	await(t, "its namespace is gone", func() bool { return len(namespacesOf(t, f)) == 0 })
	expectRun(t, onUserCluster(t, f.Variables, nil, "clean"), exitFine, []string{"nothing to remove"})
}

// TestConsentOfAKubernetesOwner: a cluster on other hosts gets no load without the consent of its owner, and
// not more than the consent allows. Long because it is a table.
func TestConsentOfAKubernetesOwner(t *testing.T) {
	const token = "0123456789abcdef"
	allowed, err := consent.ReadList(strings.NewReader(`allow:
- {host: 203.0.113.7, ports: [6443], owner: me, max_rate: 100/s, hours: always, expires: 2027-01-01, token: `+
		token+`}
`), "list")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	plan := func(factor string, level float64) lab.Plan {
		return lab.Plan{Study: lab.Study{Load: &lab.Load{Duration: 864_000}, // 10 of the 38 days of the consent
			Points: []lab.Point{{Name: "p", Levels: map[string]float64{factor: level}}}}}
	}
	longer := plan(lab.FactorRate, 50)
	longer.Study.Design.Lengthen = 4
	pairs := plan(lab.FactorRate, 60)
	pairs.Study.Load.Scenario = []byte(`{"flows": [{"steps": [{"request": "GET /"}]}, {"steps": [{"request": "GET /"},
		{"request": "GET /"}]}]}`)
	for name, c := range map[string]struct {
		server, proof string
		plan          lab.Plan
		allowed       []consent.Permission
		says          string
	}{
		"this host":        {"https://127.0.0.1:6443", "", plan("orders", 10), nil, ""},
		"one that we made": {"https://198.19.0.3:6443", "", plan("orders", 10), nil, ""},
		"nobody agrees": {"https://203.0.113.7:6443", token, plan(lab.FactorRate, 50), nil,
			"not in the allow list"},
		"its owner agrees": {"https://203.0.113.7:6443", token, plan(lab.FactorPerMinute, 600), allowed, ""},
		"too much": {"https://203.0.113.7:6443", token, plan(lab.FactorRate, 500), allowed,
			"100 are permitted"},
		"flows of two":         {"https://203.0.113.7:6443", token, pairs, allowed, "120 operations"},
		"a load that may grow": {"https://203.0.113.7:6443", token, longer, allowed, "of load would end after"},
		"as fast as it can":    {"https://203.0.113.7:6443", token, plan("orders", 10), allowed, "no highest rate"},
		"another token": {"https://203.0.113.7:6443", "another", plan(lab.FactorRate, 50), allowed,
			"is not the token"},
		"another port": {"https://203.0.113.7", token, plan(lab.FactorRate, 50), allowed, "not for this port"},
	} {
		text := `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "` + c.server + `"}}], users: [{name: u}]}`
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		users, err := kubernetes.FromEnvironment(func(name string) (string, bool) {
			return map[string]string{kubernetes.ConfigVariable: config}[name], name != registry.Variable
		})
		if err != nil {
			t.Fatal(err)
		}
		cluster := ownedCluster(users)
		guard, err := cluster.guard()
		if err != nil {
			t.Fatal(err)
		}
		guard.Allowed = c.allowed
		guard.Now = func() time.Time {
			return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		}
		guard.Fetch = func(_ context.Context, _ consent.Proof) ([]byte, error) { return []byte(c.proof), nil }
		err = cluster.checkConsent(t.Context(), guard, c.plan)
		if c.says == "" && err != nil || c.says != "" &&
			(err == nil || !strings.Contains(err.Error(), c.says) || exitCode(err) != exitBadPlan) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
