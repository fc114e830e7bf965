package swarm

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestADetourIsThereOnce checks that a node gets the rules of a detour once, and again after it was killed
// and booted, and that they can be removed whether it has them or has lost them.
func TestADetourIsThereOnce(t *testing.T) {
	if err := private.Missing(); err != nil {
		t.Skip(err)
	}
	set, err := hosts.Make(t.Context(), deploytest.Label(t), "alpha")
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, set.Close()) })
	alpha := &private.Node{Host: set.Hosts()[0]}
	trial := &privateTrial{detours: map[string]*detour{"front": {from: alpha,
		rules: [][]string{{"filter", "FORWARD", "-p", "tcp", "--dport", "9", "-j", "ACCEPT"}}}}}
	add := func() error { return trial.restoreDetours(t.Context(), alpha) }
	remove := func() error { return trial.removeDetours(t.Context()) }
	boot := func() error { return alpha.Boot(t.Context()) }
	kill := func() error { return alpha.Kill(t.Context()) }
	for i, step := range []struct {
		do    func() error
		rules int
	}{
		{remove, 0}, {add, 1}, {add, 1}, {kill, 0}, {add, 0}, {remove, 0}, {boot, 0}, {remove, 0}, {add, 1},
		{add, 1}, {boot, 0}, {add, 1}, {remove, 0}, {remove, 0},
	} {
		testset.Must(t, step.do())
		text, err := alpha.Command(t.Context(), "iptables", "--list-rules", "FORWARD").Output()
		if rules := strings.Count(string(text), "--dport 9 "); rules != step.rules || alpha.Runs() && err != nil {
			t.Fatalf("after step %d it has %d rules, want %d: %v, %s", i, rules, step.rules, err, text)
		}
	}
}
