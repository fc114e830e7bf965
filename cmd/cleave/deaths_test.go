package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// mortalStudy is a study of a shop. In the first attempt a part of the shop is killed during the load.
const mortalStudy = `
schema: cleave-study/1
name: mortal
title: A shop that loses a part
system: shop
baseline: one
variants: {one: {architecture: %s}}
points: {p: {orders: 200, over: 20}}
load: {duration: 10s}
design: {blocks: 1, max_repeats: 1, gates: {steal: 99%%, calibration: 99%%}}
`

// keptProcesses returns the PIDs of the running programs that keepers of a cleave have started and whose
// command lines contain mark.
func keptProcesses(label, mark string) []int {
	keepers := labelled(label, agent.KeeperCommand)
	var found []int
	for pid := range labelled(label, mark) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		// proc(5): the state, Z for a zombie, and the parent
		if state := strings.Fields(rest); len(state) > 1 && state[0] != "Z" {
			parent, _ := strconv.Atoi(state[1])
			if _, kept := keepers[parent]; kept {
				found = append(found, pid)
			}
		}
	}
	return found
}

// TestWhatDiesInMidTrialIsNamed: if a backing server or a balancer is killed from outside,
// the trial ends at once, with a reason that names it and says how it ended. The next
// attempt has a new one and is valid.
func TestWhatDiesInMidTrialIsNamed(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	for name, c := range map[string]struct {
		architecture, backing string
		needs                 []server.Kind
		mark                  string // of the command line of the server or balancer
		reason                string
	}{
		"mariadb": {"monolith", "mariadb", []server.Kind{server.MariaDB}, "mariadb.cnf",
			"mariadb ended by signal: killed; its last words:"},
		"postgres": {"monolith", "postgres", []server.Kind{server.Postgres}, "postgresql.conf",
			"postgres ended by signal: killed; its last words:"},
		"rabbitmq": {"async", "rabbitmq", []server.Kind{server.RabbitMQ}, "rabbit",
			"rabbitmq ended by signal: killed"},
		"nats": {"async", "nats", nil, "nats.json", "nats ended by signal: killed"},
		"mongo": {"async", "mongo", []server.Kind{server.Mongo}, "documents/data",
			"mongo ended by signal: killed"},
		"haproxy": {"monolith-ha", "", nil, "haproxy", "ended by signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			needServers(t, c.needs...)
			if name == "haproxy" {
				needPrograms(t, name)
			}
			t.Parallel()
			e := &experiment{t: t, dir: t.TempDir()}
			writeFiles(t, e.dir, map[string]string{"mortal.yaml": fmt.Sprintf(mortalStudy, c.architecture)})
			arguments := []string{"run", filepath.Join(e.dir, "mortal.yaml"), "--results", e.dir}
			if c.backing != "" {
				arguments = append(arguments, "--backing", c.backing)
			}
			e.start(arguments...)
			label := e.label()
			e.killInLoad(label, c.mark, c.architecture)
			killed := time.Now()
			if code := e.code(); code != exitFine {
				t.Fatalf("exit code %d\n%s", code, e.errOut.String())
			}
			awaitNoProcess(t, label)
			trials := trialsOf(t, e.dir)
			slices.SortFunc(trials, func(a, b lab.Trial) int { return a.Attempt - b.Attempt })
			if len(trials) != 2 || trials[0].Valid || !strings.Contains(trials[0].Reason, c.reason) {
				t.Fatalf("%d attempts, the first has the reason %q, want %q", len(trials), trials[0].Reason, c.reason)
			}
			if !trials[1].Valid {
				t.Errorf("the second attempt: %s", trials[1].Reason)
			}
			// In between is the clean-up, which takes seconds on a busy host.
			if waited := trials[1].Started.Sub(killed); waited > 30*time.Second {
				t.Errorf("the next attempt began %v after the server was killed", waited)
			}
		})
	}
}

// killInLoad kills the server whose command line contains mark, as soon as the shop accepts orders.
func (e *experiment) killInLoad(label, mark, architecture string) {
	e.t.Helper()
	address := until(e.t, "the front listens", func() (string, bool) {
		return frontAddress(label, fronts[architecture])
	})
	await(e.t, "the shop is ready", func() bool { return answersOK("http://" + address + "/health") })
	await(e.t, "the generator runs", func() bool { return len(labelled(label, "--job")) > 0 })
	victims := keptProcesses(label, mark)
	if len(victims) == 0 {
		e.t.Fatalf("no process is called %q", mark)
	}
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			e.t.Fatal(err)
		}
	}
}
