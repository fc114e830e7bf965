package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// needServers skips the test if one of the servers is not installed.
func needServers(t *testing.T, kinds ...server.Kind) {
	t.Helper()
	for _, kind := range kinds {
		servers.Need(t, kind)
	}
}

// labelled returns the command lines of the living processes with the label of a cleave, by PID; only those
// that contain name, unless it is "".
func labelled(label, name string) map[int]string {
	found := map[int]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		environment, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(environment, []byte("CLEAVE_RUN="+label+"\x00")) {
			continue
		}
		arguments, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && bytes.Contains(arguments, []byte(name)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			found[pid] = string(bytes.ReplaceAll(arguments, []byte{0}, []byte(" ")))
		}
	}
	return found
}

// awaitNoProcess waits until no process of the label is left.
func awaitNoProcess(t *testing.T, label string) {
	t.Helper()
	await(t, "no process of "+label+" is left", func() bool { return len(labelled(label, "")) == 0 })
}

// TestAnUpdateOfEveryUnitGetsTime: the next fault begins when each unit but the lead has had the time for an
// update, or for a restart.
func TestAnUpdateOfEveryUnitGetsTime(t *testing.T) {
	layout := lab.Layout{Units: make([]lab.UnitSpec, 4)}
	for kind, want := range map[lab.FaultKind]float64{
		lab.FaultUpdate:  firstFault + 3*replicaUpdate,
		lab.FaultRestart: firstFault + 3*unitRestart,
	} {
		faults := []lab.Fault{{Kind: kind, Target: lab.EveryUnit, After: math.NaN()},
			{Kind: lab.FaultKill, Target: "orders", After: math.NaN()}}
		if next := scheduleFaults(faults, []lab.Layout{layout})[1].After; next != want {
			t.Errorf("after %s of every unit the next fault begins at %g s, want %g", kind, next, want)
		}
	}
}

// TestPartsAreKilledInMidLoad kills units and servers with kill -9 during the load and
// restarts them: no order may be lost or doubled, and every order must become final. The
// cases cover every client that has to reconnect: HTTP, our gRPC and each server, with
// single messages and with batches.
func TestPartsAreKilledInMidLoad(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	const every = "kill:every-unit@500ms+200ms"
	const commands = "async --knob coordination=orchestrated-broker"
	for name, c := range map[string]struct {
		architecture string
		faults       []string
		backing      string
		needs        []server.Kind
		killed       int
	}{
		"monolith-ha":     {"monolith-ha", []string{every}, "", nil, 3},
		"monolith-tuned":  {"monolith-tuned", []string{every}, "", nil, 1},
		"sync":            {"sync", []string{every}, "", nil, 6},
		"sync-grpc-tuned": {"sync-grpc-tuned", []string{every}, "", nil, 6},
		"async-tuned":     {"async-tuned", []string{every}, "", nil, 8},
		"commands":        {commands, []string{every}, "", nil, 8},
		"commands over RabbitMQ": {commands, []string{every}, "mariadb,rabbitmq",
			[]server.Kind{server.MariaDB, server.RabbitMQ}, 8},
		"database": {"sync", []string{"kill:database@1s+200ms"}, "mariadb", []server.Kind{server.MariaDB},
			1},
		"postgres": {"monolith", []string{"kill:database@1s+200ms"}, "postgres", []server.Kind{server.Postgres}, 1},
		"broker and database": {
			"async-tuned", []string{"kill:broker@1s+200ms", "kill:database@3s+200ms"}, "mariadb,rabbitmq",
			[]server.Kind{server.MariaDB, server.RabbitMQ}, 2,
		},
		"nats": {"async", []string{"kill:broker@1s+200ms"}, "nats", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			needServers(t, c.needs...)
			if c.architecture == "monolith-ha" {
				needPrograms(t, "haproxy")
			}
			t.Parallel()
			e := &experiment{t: t, dir: t.TempDir()}
			arguments := append([]string{"check", "shop", "--operations", "600", "--results", e.dir,
				"--architecture"}, strings.Fields(c.architecture)...)
			for _, fault := range c.faults {
				arguments = append(arguments, "--fault", fault)
			}
			if c.backing != "" {
				arguments = append(arguments, "--backing", c.backing)
			}
			e.start(arguments...)
			label := e.label()
			if code := e.code(); code != exitFine {
				t.Fatalf("exit code %d\n%s", code, e.errOut.String())
			}
			awaitNoProcess(t, label)
			expectKilled(t, trialsOf(t, e.dir)[0], c.killed)
		})
	}
}

// expectKilled checks the record of a valid trial in which that many parts were killed.
func expectKilled(t *testing.T, trial lab.Trial, killed int) {
	t.Helper()
	if !trial.Valid || trial.Audit.Verdict != lab.AuditValid {
		t.Errorf("valid %v, audit %s: %s %q", trial.Valid, trial.Audit.Verdict, trial.Reason, trial.Audit.Problems)
	}
	if len(trial.Faults) != killed || len(trial.Metered.Notes) != killed {
		t.Errorf("%d faults and %d notes of the meter, want %d: %+v", len(trial.Faults), len(trial.Metered.Notes),
			killed, trial.Faults)
	}
	for _, f := range trial.Faults {
		if !f.Effective || f.Error != "" || f.Began < f.After || f.Healed < f.Began+f.Heal ||
			f.Began > trial.ElapsedSeconds {
			t.Errorf("fault %+v in a load of %.2f s", f, trial.ElapsedSeconds)
		}
	}
	counts := trial.Audit.Counts // an order is not attempted if the change of its product's price has failed
	if counts["attempts"]+counts["prices"] < 600 || counts["ok"] == 0 {
		t.Errorf("the load did not go on: %v", counts)
	}
}

// TestOneOfTwoMayDie: killing one of two units behind a balancer fails only the orders in
// flight.
func TestOneOfTwoMayDie(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	needPrograms(t, "haproxy")
	t.Parallel()
	e := &experiment{t: t, dir: t.TempDir()}
	e.start("check", "shop", "--operations", "600", "--architecture", "monolith-ha", "--fault",
		"kill:shop-1@1s+1s", "--results", e.dir)
	if code := e.code(); code != exitFine {
		t.Fatalf("exit code %d\n%s", code, e.errOut.String())
	}
	const inFlight = 32 // connections of the generator
	counts := trialsOf(t, e.dir)[0].Audit.Counts
	if counts["fail"] > 0 || counts["info"] > inFlight {
		t.Errorf("%d orders were refused, %d have an unknown outcome: want none, and those in flight",
			counts["fail"], counts["info"])
	}
}

// TestTheAddressOfAPairMoves kills a balancer and a node behind it, and cuts off the balancer's
// node: the outage for clients is shorter than each fault. The address moves to the other
// balancer and does not move back when the first is healed.
func TestTheAddressOfAPairMoves(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	needPrograms(t, "haproxy", "keepalived")
	if err := hosts.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	const faultSeconds = 5 // of each fault, at most
	e := &experiment{t: t, dir: t.TempDir()}
	e.start("check", "shop", "--operations", "1500", "--architecture", "monolith-ha", "--knob", "balancer=pair",
		"--results", e.dir,
		"--fault", "kill:front-1@1s+5s", "--fault", "kill:back-2@2s+4s", "--fault", "kill:balancer-2@8s+5s",
		"--fault", "cut:front-1@15s+5s")
	label := e.label()
	if code := e.code(); code != exitFine {
		t.Fatalf("exit code %d\n%s", code, e.errOut.String())
	}
	awaitNoProcess(t, label)
	trial := trialsOf(t, e.dir)[0]
	if without := trial.Values()["outage"]; without <= 0 || without > faultSeconds-1 {
		t.Errorf("clients were without an answer for %.2f s, during faults of %d s", without, faultSeconds)
	}
	for _, f := range trial.Faults {
		if !f.Effective || f.Proof == "" || f.Error != "" {
			t.Errorf("fault %+v", f)
		}
	}
	// The first has the address from the beginning. The address moves to the second, back and forth again.
	const want = 2
	for _, keeper := range []string{"keepalived-1", "keepalived-2"} {
		logs, _ := filepath.Glob(filepath.Join(e.dir, "*", "latest", "trials", "*", "logs", keeper+".log"))
		if len(logs) != 1 {
			t.Fatalf("logs of %s: %v", keeper, logs)
		}
		text, err := os.ReadFile(logs[0])
		if got := strings.Count(string(text), "Entering MASTER STATE"); err != nil || got != want {
			t.Errorf("%s took the address %d times, want %d (%v)\n%s", keeper, got, want, err, text)
		}
	}
}

// frontStudy plays a shop; a test sends bad requests to its front during the load.
const frontStudy = `
schema: cleave-study/1
name: front
title: A shop with bad clients
system: shop
baseline: one
variants: {one: {architecture: %s}}
points: {p: {orders: 300, over: 15}}
load: {duration: 10s}
design: {blocks: 1, max_repeats: 0, gates: {steal: 99%%, calibration: 99%%}}
`

// fronts holds a part of the command line of the unit or balancer that the clients of a shop reach, by
// architecture.
var fronts = map[string]string{"monolith": `"unit":"shop"`, "monolith-ha": "haproxy",
	"sync": `"unit":"orders"`, "async": `"unit":"orders"`}

// TestBadClientsGetProblems: the real units of each kind of front answer a body that is
// too large, and a client that is too slow, with typed problems, and the shop is not
// changed.
func TestBadClientsGetProblems(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	for architecture, front := range fronts {
		t.Run(architecture, func(t *testing.T) {
			if front == "haproxy" {
				needPrograms(t, front)
			}
			t.Parallel()
			e := &experiment{t: t, dir: t.TempDir()}
			writeFiles(t, e.dir, map[string]string{"front.yaml": fmt.Sprintf(frontStudy, architecture)})
			e.start("run", filepath.Join(e.dir, "front.yaml"), "--results", e.dir)
			label := e.label()
			address := until(t, "the front listens", func() (string, bool) { return frontAddress(label, front) })
			await(t, "there is a shop behind it", func() bool { return answersOK("http://" + address + "/health") })
			large := `{"customerId":1,"lines":[{"productId":1,"quantity":1}]}` + strings.Repeat(" ", 128<<10)
			expectProblem(t, address, large, len(large), http.StatusRequestEntityTooLarge, "body-too-large")
			expectProblem(t, address, `{"customerId":1,`, 100, http.StatusRequestTimeout, "request-timeout")
			if code := e.code(); code != exitFine {
				t.Fatalf("exit code %d\n%s", code, e.errOut.String())
			}
			awaitNoProcess(t, label)
		})
	}
}

// answersOK reports whether a GET is answered with 200. A balancer without a healthy unit
// answers with another status.
func answersOK(url string) bool {
	response, err := http.Get(url)
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// frontAddress returns the address of the unit whose command line contains front, once it accepts
// connections.
func frontAddress(label, front string) (string, bool) {
	for pid := range labelled(label, front) {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for variable := range strings.SplitSeq(string(environment), "\x00") {
			address, is := strings.CutPrefix(variable, "CLEAVE_ADDRESS=")
			if !is {
				continue
			}
			if connection, err := net.Dial("tcp", address); err == nil {
				return address, connection.Close() == nil
			}
		}
	}
	return "", false
}

// expectProblem sends an order whose body may be shorter than the announced length, and
// checks that the answer is a problem.
func expectProblem(t *testing.T, address, body string, length, status int, kind string) {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	go func() { // in parallel, because the answer may come before everything is sent
		_, _ = fmt.Fprintf(connection, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: "+
			"application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", kind, length, body)
	}()
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status ||
		response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(text), kind) {
		t.Errorf("%d %s %s (%v), want %d and a problem %s", response.StatusCode,
			response.Header.Get("Content-Type"), text, err, status, kind)
	}
}

// TestAFullDiskIsNamedAndNothingIsLeft plays a trial whose files fill the disk: the error
// names the disk, and all files are removed.
func TestAFullDiskIsNamedAndNothingIsLeft(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=10m"); err != nil {
		t.Skipf("mounting a small disk needs root, run the tests as root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	t.Parallel()
	e := &experiment{t: t, dir: t.TempDir()}
	e.startCommand(with(program("", "check", "shop", "--operations", "50000", "--architecture", "monolith",
		"--results", e.dir), "TMPDIR="+disk))
	label := e.label()
	if code := e.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	expectTexts(t, "standard error", e.errOut.String(), "the disk that holds "+disk,
		"free some space, or set TMPDIR to a folder on another disk")
	awaitNoProcess(t, label)
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("left on the disk: %v (%v)", left, err)
	}
}
