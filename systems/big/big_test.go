package big

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// play runs all workers of a job in one loop, without any transport, and returns them.
func play(t *testing.T, job Job) []*Worker {
	t.Helper()
	var now int64
	clock := func() int64 { now++; return now }
	workers := make([]*Worker, job.Total())
	for i := range workers {
		workers[i] = job.NewWorker(i, clock)
	}
	for active := true; active; {
		active = false
		for number, w := range workers {
			target, more := w.Next()
			if !more {
				continue
			}
			active = true
			peer := workers[job.Neighbourhood(number)*job.Workers+target]
			testset.Must(t, peer.Ping(w.Index()))
			testset.Must(t, w.Pong(target))
		}
	}
	return workers
}

// reports returns the accounts of a core and of the workers, each in a process of its own.
func reports(t *testing.T, job Job, workers []*Worker) []Account {
	t.Helper()
	core := Account{PID: 1, Core: &CoreAccount{Registered: job.Total(), Finished: job.Total(), StartNs: 0,
		EndNs: 1e9}}
	accounts := []Account{core}
	for i, w := range workers {
		account := w.Account()
		account.Targets = append([]uint32(nil), account.Targets...)
		accounts = append(accounts, Account{PID: 100 + i, OwnAddressSpace: true, Workers: []WorkerAccount{account}})
	}
	return accounts
}

// auditOf returns the audit of accounts as reports of an architecture with a process per worker.
func auditOf(t *testing.T, job Job, accounts []Account) lab.Audit {
	t.Helper()
	var sent []lab.UnitReport
	for _, account := range accounts {
		data, err := json.Marshal(account)
		testset.Must(t, err)
		sent = append(sent, lab.UnitReport{Unit: "u", PID: account.PID, Data: data})
	}
	variant := lab.Variant{Architecture: UDS, Knobs: map[string]string{knobSelf: off}}
	if job.SelfPings {
		variant.Knobs[knobSelf] = on
	}
	return System{}.Audit(variant, job.Point(""), sent)
}

func TestAuditAcceptsWorkersThatKeepTheRules(t *testing.T) {
	for name, job := range map[string]Job{
		"two":           {Neighbourhoods: 1, Workers: 2, Pings: 5, Seed: 1},
		"ten by ten":    {Neighbourhoods: 10, Workers: 10, Pings: 1000, Seed: 2},
		"with self":     {Neighbourhoods: 10, Workers: 10, Pings: 1000, SelfPings: true, Seed: 3},
		"few pings":     {Neighbourhoods: 10, Workers: 50, Pings: 3, Seed: 4},
		"one ping each": {Neighbourhoods: 2, Workers: 3, Pings: 1, Seed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			audit := auditOf(t, job, reports(t, job, play(t, job)))
			if audit.Verdict != lab.AuditValid {
				t.Fatalf("audit is %s: %v", audit.Verdict, audit.Problems)
			}
			if audit.Counts["sent"] != job.RoundTrips() {
				t.Errorf("counted %d pings sent, want %d", audit.Counts["sent"], job.RoundTrips())
			}
		})
	}
}

func TestAuditCatchesEveryBrokenRule(t *testing.T) {
	job := Job{Neighbourhoods: 2, Workers: 10, Pings: 1000, Seed: 1}
	for name, test := range map[string]struct {
		breakIt func(a []Account)
		verdict lab.AuditVerdict
		problem string
	}{
		"a ping too few": {func(a []Account) { a[1].Workers[0].Sent-- }, lab.AuditInvalid,
			"worker 0 sent 999 pings"},
		"a pong too many": {func(a []Account) { a[1].Workers[0].Received++ }, lab.AuditInvalid,
			"received 1001 pongs"},
		"an answer lost": {func(a []Account) { a[3].Workers[0].Answered-- }, lab.AuditInvalid,
			"worker 2 answered"},
		"message left the group": {func(a []Account) { a[1].Workers[0].Answered--; a[15].Workers[0].Answered++ },
			lab.AuditInvalid, "its neighbours sent it"},
		"pinged itself": {func(a []Account) { move(a[1], 1, 0, 1) }, lab.AuditInvalid,
			"worker 0 pinged itself 1 times"},
		"skewed targets": {func(a []Account) { move(a[1], 2, 1, 90); move(a[1], 3, 1, 90) }, lab.AuditInvalid,
			"not uniform"},
		"targets too regular": {evenOut, lab.AuditInvalid, "not uniform"},
		"two workers, one process": {func(a []Account) {
			a[1].Workers = append(a[1].Workers, a[2].Workers...)
			a[2].Workers = nil
		}, lab.AuditInvalid, "hosts 2 workers"},
		"one process twice": {func(a []Account) { a[2].PID = a[1].PID }, lab.AuditInvalid, "reported twice"},
		"shared address space": {func(a []Account) { a[4].OwnAddressSpace = false }, lab.AuditInvalid,
			"shares its address space"},
		"worker reported twice": {func(a []Account) {
			a[2].Workers[0].Number = 0
		}, lab.AuditInvalid, "reports worker 0 twice"},
		"a worker is silent": {func(a []Account) { a[5].Workers = nil }, lab.AuditUnknown, "19 of 20 workers"},
		"the core is silent": {func(a []Account) { a[0].Core = nil }, lab.AuditUnknown, "core reported: false"},
		"finish not counted": {func(a []Account) { a[0].Core.Finished-- }, lab.AuditInvalid,
			"19 finished workers of 20"},
		"clock stands still": {func(a []Account) { a[0].Core.EndNs = 0 }, lab.AuditInvalid, "clock"},
	} {
		t.Run(name, func(t *testing.T) {
			accounts := reports(t, job, play(t, job))
			test.breakIt(accounts)
			audit := auditOf(t, job, accounts)
			if audit.Verdict != test.verdict || !strings.Contains(strings.Join(audit.Problems, "\n"), test.problem) {
				t.Errorf("audit is %s: %v; want %s and %q", audit.Verdict, audit.Problems, test.verdict, test.problem)
			}
		})
	}
}

// move moves pings of one worker from one target to another. The answers of the two targets no longer match,
// so the audit may report that, too.
func move(a Account, from, to int, pings uint32) {
	a.Workers[0].Targets[from] -= pings
	a.Workers[0].Targets[to] += pings
}

// evenOut makes all targets equal, as a round robin would.
func evenOut(accounts []Account) {
	for _, account := range accounts[1:] {
		w := &account.Workers[0]
		w.Sent = 1000
		w.Received = 1000
		w.Answered = 1000
		for i := range w.Targets {
			w.Targets[i] = 111
		}
		w.Targets[w.Number%10] = 0
	}
}

func TestAuditOfAWrongProcessNumber(t *testing.T) {
	job := Job{Neighbourhoods: 1, Workers: 2, Pings: 3, Seed: 1}
	data, err := json.Marshal(reports(t, job, play(t, job))[1])
	testset.Must(t, err)
	audit := System{}.Audit(lab.Variant{Architecture: UDS}, lab.Point{},
		[]lab.UnitReport{{Unit: "worker-1", PID: 7, Data: data}})
	if !strings.Contains(strings.Join(audit.Problems, "\n"), "the deployer started 7") {
		t.Errorf("problems %v, want the process number named", audit.Problems)
	}
}

func TestPongMustComeFromThePingedWorker(t *testing.T) {
	w := Job{Neighbourhoods: 1, Workers: 4, Pings: 2, Seed: 1}.NewWorker(0, Clock)
	if err := w.Pong(1); err == nil {
		t.Error("a pong without a ping is accepted")
	}
	target, _ := w.Next()
	if err := w.Pong((target + 1) % 4); err == nil {
		t.Error("a pong of another worker is accepted")
	}
	if err := w.Pong(target); err != nil {
		t.Error(err)
	}
	if err := w.Pong(target); err == nil {
		t.Error("a second pong for one ping is accepted")
	}
}

func TestPingFromOutsideIsRefused(t *testing.T) {
	w := Job{Neighbourhoods: 1, Workers: 4, Pings: 2, Seed: 1}.NewWorker(0, Clock)
	for _, from := range []int{-1, 4} {
		if err := w.Ping(from); err == nil {
			t.Errorf("a ping from neighbour %d is accepted", from)
		}
	}
}

func TestWorkersDrawDifferentTargetsAndTheSameAgain(t *testing.T) {
	job := Job{Neighbourhoods: 1, Workers: 50, Pings: 100, Seed: 9}
	draw := func(number int) (targets []int) {
		w := job.NewWorker(number, Clock)
		for range 20 {
			targets = append(targets, w.draw())
		}
		return targets
	}
	if !slices.Equal(draw(3), draw(3)) {
		t.Error("the same worker draws other targets the second time")
	}
	if slices.Equal(draw(3), draw(4)) {
		t.Error("two workers draw the same targets")
	}
}

func TestLayoutOfServices(t *testing.T) {
	point := Job{Neighbourhoods: 2, Workers: 3, Pings: 4}.Point("")
	for _, f := range families() {
		layout, err := System{}.Layout(lab.Variant{Architecture: f.Name}, point, 42)
		testset.Must(t, err)
		want := 1 + 6
		if f.oneUnit {
			want = 1
		}
		if len(layout.Units) != want || layout.Operations != 24 || layout.Units[0].Name != layout.Lead {
			t.Errorf("%s: %d units led by %s, %d operations", f.Name, len(layout.Units), layout.Lead,
				layout.Operations)
		}
		var job UnitJob
		testset.Must(t, json.Unmarshal([]byte(layout.Units[len(layout.Units)-1].Args[0]), &job))
		if job.Seed != 42 || job.Workers != 3 || job.SelfPings || len(job.Knobs) != len(f.Knobs) {
			t.Errorf("%s: job %+v", f.Name, job)
		}
	}
	if _, err := (System{}).Layout(lab.Variant{Architecture: "carrier-pigeon"}, point, 1); err == nil {
		t.Error("an unknown architecture has a layout")
	}
}

func TestNeighbourhoodsAreTheSameInAnyOrder(t *testing.T) {
	r := NewReception(Job{Neighbourhoods: 2, Workers: 2})
	for i, address := range []string{"d", "b", "a", "c"} {
		complete, err := r.Register(address)
		if err != nil || complete != (i == 3) {
			t.Fatalf("Register(%q) = %t, %v", address, complete, err)
		}
	}
	for worker, want := range []string{"ab", "ab", "cd", "cd"} {
		if got := strings.Join(r.NeighbourhoodOf(worker), ""); got != want {
			t.Errorf("the neighbourhood of worker %d is %s, want %s", worker, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { r.NeighbourhoodOf(3) }); n > 0 {
		t.Errorf("NeighbourhoodOf allocates %g times: the measured start signal must not wait for it", n)
	}
	if _, err := r.Register("e"); err == nil {
		t.Error("a fifth of four workers may register")
	}
}

// TestAddressesSortByTheirNumbers, not as texts: the numbers of hosts and ports differ in length.
func TestAddressesSortByTheirNumbers(t *testing.T) {
	r := NewReception(Job{Neighbourhoods: 1, Workers: 4})
	for _, address := range []string{"198.18.0.100:8081", "198.18.0.99:8081", "198.18.0.99:10000",
		"198.18.0.10:8081"} {
		if _, err := r.Register(address); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"198.18.0.10:8081", "198.18.0.99:8081", "198.18.0.99:10000", "198.18.0.100:8081"}
	if got := r.Addresses(); !slices.Equal(got, want) {
		t.Errorf("addresses %q, want %q", got, want)
	}
}

func TestAddressSpaceCanBeClaimedOnce(t *testing.T) {
	job := UnitJob{Job: Job{Neighbourhoods: 1, Workers: 2, Pings: 3}, Worker: 1}
	for _, own := range []bool{true, false} {
		account, err := PlayWorker(job, func(rules *Worker) error { rules.Answered(); return nil })
		testset.Must(t, err)
		if account.OwnAddressSpace != own {
			t.Errorf("claimed an address space of its own: %t, want %t", account.OwnAddressSpace, own)
		}
		if len(account.Workers) != 1 || account.Workers[0].Number != 1 || account.Workers[0].Answered != 1 {
			t.Errorf("account %+v, want worker 1 with one answer", account)
		}
	}
	_, err := PlayWorker(job, func(*Worker) error { return errors.New("torn cable") })
	if err == nil || err.Error() != "worker 1: torn cable" {
		t.Errorf("error %v, want that worker 1 has a torn cable", err)
	}
}

func TestReceptionWaitsForAll(t *testing.T) {
	r := NewReception(Job{Neighbourhoods: 1, Workers: 2})
	var workers sync.WaitGroup
	for _, address := range []string{"b", "a"} {
		workers.Go(func() {
			if _, err := r.Register(address); err != nil {
				t.Error(err)
			}
		})
	}
	testset.Must(t, r.Gather())
	if got := r.NeighbourhoodOf(0); got[0] != "a" || got[1] != "b" {
		t.Errorf("neighbourhood %v, want [a b]", got)
	}
	workers.Wait()
	for range 2 {
		workers.Go(func() { r.Finish() })
	}
	if err := r.AwaitFinish(); err != nil {
		t.Error(err)
	}
	workers.Wait()
	if core := r.Account().Core; *core != (CoreAccount{Registered: 2, Finished: 2}) {
		t.Errorf("core's account %+v", *core)
	}
}

func TestReceptionKeepsTheFirstFailure(t *testing.T) {
	r := NewReception(Job{Neighbourhoods: 1, Workers: 1})
	first := errors.New("first")
	r.Fail(first)
	r.Fail(errors.New("second"))
	if err := r.Gather(); err != first {
		t.Errorf("error %v, want the first", err)
	}
	_, err := r.Register("a")
	testset.Must(t, err)
	if _, err := r.Register("b"); err == nil {
		t.Error("a second of one worker may register")
	}
	if err := r.AwaitFinish(); err == nil {
		t.Error("the core goes on after a worker too many")
	}
}
