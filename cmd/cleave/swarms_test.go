package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/deploy/swarm/userstest"
)

// TestTheSameRunsOnTheUsersSwarm: the same checks run on a swarm that the user names. What is
// impossible there is an error before anything is created.
func TestTheSameRunsOnTheUsersSwarm(t *testing.T) {
	f := userstest.New(t)
	f.Furnish(t)
	before := f.State(t)
	for _, c := range []struct {
		name, args string
		other      map[string]string
		code       int
		says       []string
	}{
		{"units and their server are killed", "check shop --architecture sync --operations 300 --backing mariadb " +
			"--deploy swarm --fault kill:every-unit --fault restart:database", nil, exitFine,
			[]string{"sync          valid", "7 of 7"}},
		{"files of this host", "check shop --architecture sync --deploy swarm", nil, exitMissingPart,
			[]string{"a folder of this host", "such as postgres"}},
		{"a fault that needs root on nodes",
			"check shop --architecture sync --deploy swarm --fault cut:inventory", nil, exitBadPlan,
			[]string{"cannot do it; it can: [kill restart pause]"}},
		{"an invalid registry", "check shop --architecture sync --deploy swarm --registry host", nil,
			exitBadPlan, []string{"HOST/PATH"}},
		{"a worker", "check shop --architecture sync --deploy swarm",
			map[string]string{swarm.Variable: f.Nodes[1].Socket}, exitMissingPart,
			[]string{"is a worker of a swarm: name a manager"}},
		{"no manager", "check shop --architecture sync --deploy swarm --swarm unix:///nowhere", nil,
			exitMissingPart, []string{"look whether its manager runs"}},
		{"no context", "check shop --architecture sync --deploy swarm --swarm theirs", nil, exitMissingPart,
			[]string{`no context "theirs" of docker`}},
		{"a registry that is not there", "check shop --architecture sync --backing mariadb --deploy swarm",
			map[string]string{registry.Variable: "127.0.0.1:1/team"}, exitFailed,
			[]string{"into the registry 127.0.0.1:1", "look whether the registry runs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := onUserCluster(t, f.Variables, c.other, c.args)
			expectRun(t, command, c.code, c.says)
			f.Unchanged(t, before)
		})
	}
	t.Run("services of files", func(t *testing.T) {
		compareOnUserCluster(t, f.Variables, "swarm")
		f.Unchanged(t, before)
	})
	t.Run("a conductor that is killed", func(t *testing.T) { expectSwarmCleaned(t, f, before) })
}

// expectSwarmCleaned kills a conductor when its server runs on a swarm, and checks that the sweeper restores
// the state before.
func expectSwarmCleaned(t *testing.T, f *userstest.Swarm, before deploytest.State) {
	conductor := onUserCluster(t, f.Variables, nil,
		"check shop --architecture sync --operations 20000 --backing mariadb --deploy swarm")
	killWhen(t, conductor, "there is a server", func() bool {
		var services []struct{ Spec struct{ Name string } }
		f.Call(t, 0, http.MethodGet, "/services", nil, &services)
		for _, service := range services {
			if strings.Contains(service.Spec.Name, "-1-") { // of the first deployment
				return true
			}
		}
		return false
	})
	f.Unchanged(t, before)
	expectRun(t, onUserCluster(t, f.Variables, nil, "clean"), exitFine, []string{"nothing to remove"})
}
