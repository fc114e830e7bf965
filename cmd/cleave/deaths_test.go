package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/lab"
)

// mortalStudy is a shop of which a part ends in mid-load, in the first attempt.
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

// serversOf lists the servers below a cleave, by what their command lines contain.
func serversOf(conductor int, mark string) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		state := strings.Fields(rest)
		if len(state) > 1 && state[0] != "Z" && state[1] == strconv.Itoa(conductor) && strings.Contains(string(line), mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

// TestWhatDiesInMidTrialIsNamed: a backing server or a balancer that is killed by
// somebody else ends the trial at once, which says what it was and how it ended; the
// next attempt has a fresh one and counts.
func TestWhatDiesInMidTrialIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		architecture, backing string
		needs                 []server.Kind
		mark                  string // of the server's command line
		reason                string
	}{
		"mariadb":  {"monolith", "mariadb", []server.Kind{server.MariaDB}, "mariadb.cnf", "mariadb ended: signal: killed; the end of its log: "},
		"postgres": {"monolith", "postgres", []server.Kind{server.Postgres}, "services/database-postgres", "postgres ended: signal: killed; the end of its log: "},
		"rabbitmq": {"async", "rabbitmq", []server.Kind{server.RabbitMQ}, "services/broker-rabbitmq", "rabbitmq ended: signal: killed; the end of its log: "},
		"nats":     {"async", "nats", nil, "nats.json", "nats ended: signal: killed; the end of its log: "},
		"mongo":    {"async", "mongo", []server.Kind{server.Mongo}, "services/documents-mongo", "mongo ended: signal: killed; the end of its log: "},
		"haproxy":  {"monolith-ha", "", nil, "", "ended by signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			needServers(t, c.needs...)
			if _, err := exec.LookPath("haproxy"); err != nil && name == "haproxy" {
				t.Skip("haproxy is not installed")
			}
			t.Parallel()
			e := &experiment{t: t, dir: t.TempDir()}
			file := filepath.Join(e.dir, "mortal.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, mortalStudy, c.architecture), 0o600); err != nil {
				t.Fatal(err)
			}
			arguments := []string{"run", file, "--results", e.dir}
			if c.backing != "" {
				arguments = append(arguments, "--backing", c.backing)
			}
			e.start(arguments...)
			label := e.label()
			e.killInLoad(label, c.mark, c.architecture)
			killed := time.Now()
			if code := e.code(); code != exitFine {
				t.Fatalf("exit code %d\n%s", code, e.story.String())
			}
			expectNobody(t, label)
			trials := trialsOf(t, e.dir)
			slices.SortFunc(trials, func(a, b lab.Trial) int { return a.Attempt - b.Attempt })
			if len(trials) != 2 || trials[0].Valid || !strings.Contains(trials[0].Reason, c.reason) {
				t.Fatalf("%d attempts, the first has the reason %q, want %q", len(trials), trials[0].Reason, c.reason)
			}
			if !trials[1].Valid {
				t.Errorf("the second attempt: %s", trials[1].Reason)
			}
			// Between the two is the tidying up, for which a busy host needs seconds.
			if waited := trials[1].Started.Sub(killed); waited > 30*time.Second {
				t.Errorf("the next attempt began %v after the server was killed", waited)
			}
		})
	}
}

// killInLoad kills what is marked as soon as the shop takes orders: a server, or the
// balancer in front of it where there is no mark.
func (e *experiment) killInLoad(label, mark, architecture string) {
	e.t.Helper()
	front := map[string]string{"monolith": `"instance":"shop"`, "monolith-ha": "haproxy", "async": `"instance":"orders"`}[architecture]
	address := until(e.t, "the front listens", func() (string, bool) { return frontAddress(label, front) })
	until(e.t, "the shop is ready", func() (string, bool) { return address, answersOK("http://" + address + "/health") })
	until(e.t, "the generator runs", func() (int, bool) { n := len(labelled(label, "agent")); return n, n > 0 })
	victims := serversOf(e.Process.Pid, mark)
	if mark == "" {
		victims = nil
		for pid, line := range labelled(label, "haproxy") {
			if !strings.Contains(line, keeperName) {
				victims = append(victims, pid)
			}
		}
	}
	if len(victims) == 0 {
		e.t.Fatalf("no process is called %q", mark)
	}
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			e.t.Fatal(err)
		}
	}
}
