package server

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestEveryTrialHasAServerOfItsOwn checks that each server has its own password, which is neither in
// its arguments nor in its environment. Its address contains a placeholder for the address of its unit,
// wherever that is deployed.
func TestEveryTrialHasAServerOfItsOwn(t *testing.T) {
	for _, b := range Backings(t.TempDir()) {
		t.Run(b.Kind, func(t *testing.T) {
			err := b.Preflight()
			if _, missing := errors.AsType[*lab.MissingError](err); missing {
				t.Skip(err)
			}
			testset.Must(t, err)
			var passwords []string
			for range 2 {
				fresh, err := b.Fresh(t.Context(), lab.ServiceSpec{Name: "part", Kind: b.Kind}, "")
				testset.Must(t, err)
				unit := fresh.Server
				kind := strings.TrimSuffix(b.Kind, "-classic")
				if unit.Name != "part" || unit.Role != "part" || unit.Server.Kind != kind {
					t.Fatalf("unit %+v", unit)
				}
				_, password, _ := strings.Cut(strings.Split(fresh.Address("h:1"), "@")[0], "cleave:")
				if slices.ContainsFunc(slices.Concat(unit.Args, unit.Env),
					func(text string) bool { return strings.Contains(text, password) }) {
					t.Errorf("the password is in %q or %q", unit.Args, unit.Env)
				}
				at := lab.AddressOf("part")
				if !strings.HasSuffix(strings.TrimRight(strings.Split(fresh.Address(at), "?")[0], "/"), password+"@"+at) {
					t.Errorf("the address %q has no placeholder for the unit's address",
						strings.ReplaceAll(fresh.Address(at), password, "***"))
				}
				passwords = append(passwords, password)
			}
			if passwords[0] == passwords[1] || len(passwords[0]) != 26 {
				t.Errorf("two servers have passwords of %d characters, the same: %v", len(passwords[0]),
					passwords[0] == passwords[1])
			}
		})
	}
}

// TestOnlyCassandraSyncsAsAsked checks that other servers refuse Cassandra's option: they would ignore it.
func TestOnlyCassandraSyncsAsAsked(t *testing.T) {
	_, err := fresh(Redis, lab.ServiceSpec{Name: "store", Options: map[string]string{CommitLogSync: periodic}})
	if err == nil || err.Error() != `option commitlog_sync of store is "periodic": redis has no such option` {
		t.Errorf("error = %v", err)
	}
}

// TestCassandraSyncsAsAsked checks that by default Cassandra syncs before it acknowledges; if the study asks
// for periodic syncs, the address allows them.
func TestCassandraSyncsAsAsked(t *testing.T) {
	for asked, want := range map[string]string{"": "batch", "batch": "batch", "periodic": "periodic",
		"never": ""} {
		made, err := fresh(Cassandra,
			lab.ServiceSpec{Name: "store", Options: map[string]string{CommitLogSync: asked}})
		if _, missing := errors.AsType[*lab.MissingError](err); missing {
			t.Skip(err)
		}
		if want == "" {
			if err == nil || !strings.Contains(err.Error(),
				`option commitlog_sync of store is "never": use batch or periodic`) {
				t.Errorf("%q: error = %v", asked, err)
			}
			continue
		}
		testset.Must(t, err)
		if !strings.Contains(string(made.Server.Files["cassandra.yaml"]), "commitlog_sync: "+want+"\n") {
			t.Errorf("%q: the configuration does not say %s", asked, want)
		}
		if allows := strings.HasSuffix(made.Address("h:1"),
			"?commitlog_sync=periodic"); allows != (want == "periodic") {
			t.Errorf("%q: the address allows periodic syncs: %v", asked, allows)
		}
	}
}
