package shm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/cleave-lab/cleave/binding/ring"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

// knobs returns values of the knobs gang and pinned.
func knobs(gang, pinned string) map[string]string {
	return map[string]string{big.KnobGang: gang, "pinned": pinned}
}

func TestWholeTrials(t *testing.T) {
	bigtest.WholeTrials(t, big.SHM, knobs("off", "on"), knobs("on", "on"), knobs("off", "off"),
		knobs("on", "off"))
}

// TestTurnsOfTheGang plays a trial that is long enough for every neighbourhood to have several turns.
func TestTurnsOfTheGang(t *testing.T) {
	bigtest.Run(t, bigtest.Trial{
		Architecture: big.SHM, Knobs: knobs("on", "on"), Neighbourhoods: 5, Workers: 4, Pings: 10_000,
	})
}

// newTestBoard returns a board on memory of this process.
func newTestBoard(t *testing.T, job big.Job) *board {
	t.Helper()
	memory := make([]byte, boardSize(job)+ring.Line)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % ring.Line
	b, err := newBoard(job, memory[skip:])
	testset.Must(t, err)
	return b
}

func TestLayoutHasRoomForTheBoard(t *testing.T) {
	for _, size := range [][2]int{{1, 2}, {1, 3}, {10, 10}, {10, 50}, {1000, 2}, {3, 63}, {3, 64}, {2, 65},
		{1, 500}} {
		job := big.Job{Neighbourhoods: size[0], Workers: size[1], Pings: 1}
		layout, err := big.System{}.Layout(lab.Variant{Architecture: big.SHM}, job.Point(""), 1)
		testset.Must(t, err)
		if need := int64(boardSize(job)); layout.SharedMemory < need {
			t.Errorf("%v: the layout asks for %d bytes, the board needs %d", size, layout.SharedMemory, need)
		}
	}
}

func TestBoardNeedsItsMemory(t *testing.T) {
	job := big.Job{Neighbourhoods: 2, Workers: 2}
	if _, err := newBoard(job, make([]byte, boardSize(job)-1)); err == nil {
		t.Error("a board is made of too little memory")
	}
}

// TestInboxHoldsWhatCanBeOutstanding: a ping of every neighbour and one more message, unread.
func TestInboxHoldsWhatCanBeOutstanding(t *testing.T) {
	for workers := 2; workers <= 70; workers++ {
		job := big.Job{Neighbourhoods: 1, Workers: workers}
		row, err := newTestBoard(t, job).inboxesOf(0, workers)
		testset.Must(t, err)
		for from := range workers {
			if err := row.Send(0, message(ping, from)); err != nil {
				t.Fatalf("%d workers: ping of %d: %v", workers, from, err)
			}
		}
		if err := row.Send(0, message(pong, 1)); err != nil {
			t.Fatalf("%d workers: pong: %v", workers, err)
		}
	}
}

func TestMessageKeepsKindAndSender(t *testing.T) {
	for _, k := range []kind{kickOff, ping, pong, dismissal} {
		for _, from := range []int{0, 1, 499, 1<<16 - 1} {
			if m := message(k, from); kindOf(m) != k || senderOf(m) != from {
				t.Errorf("message of kind %d from %d reads as kind %d from %d", k, from, kindOf(m), senderOf(m))
			}
		}
	}
}

func TestWorkerRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		kind kind
		from int
		want string
	}{
		{"pong without a ping", pong, 1, "awaited -1"},
		{"ping of a stranger", ping, 3, "got a ping from 3"},
		{"something else", dismissal + 1, 1, "unknown kind 5"},
	} {
		job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 3, Pings: 5}}
		w, err := newWorker(newTestBoard(t, job.Job), job, job.NewWorker(job.Worker, big.Clock))
		testset.Must(t, err)
		testset.Must(t, w.neighbours.Send(0, message(test.kind, test.from)))
		if err := w.serve(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestFullInboxEndsTheSender(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 100}}
	w, err := newWorker(newTestBoard(t, job.Job), job, job.NewWorker(job.Worker, big.Clock))
	testset.Must(t, err)
	for err == nil { // against the rules: pings without awaiting their pongs
		err = w.pingNext()
	}
	if !errors.Is(err, ring.ErrFull) || !strings.Contains(err.Error(), "neighbour 1") {
		t.Errorf("got %v, want that the inbox of neighbour 1 is full", err)
	}
}

// TestEveryWorkerIsDismissed, also if the inbox of another one is full, and the core says so.
func TestEveryWorkerIsDismissed(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}, Worker: 1}
	b := newTestBoard(t, job.Job)
	c, err := newCore(b, job)
	testset.Must(t, err)
	for err == nil {
		err = c.inboxes.Send(0, message(ping, 1))
	}
	if err := c.Dismiss(); !errors.Is(err, ring.ErrFull) || !strings.Contains(err.Error(), "worker 0") {
		t.Errorf("the dismissal: %v, want that the inbox of worker 0 is full", err)
	}
	w, err := newWorker(b, job, job.NewWorker(job.Worker, big.Clock))
	testset.Must(t, err)
	if m, received := w.inbox.Receive(); !received || kindOf(m) != dismissal {
		t.Error("worker 1 is not dismissed")
	}
}

func TestCircles(t *testing.T) {
	for _, test := range []struct {
		name   string
		pinned []uint32 // by neighbourhood
		next   []uint32
		firsts []int
	}{
		{"one processor", []uint32{1, 1, 1}, []uint32{1, 2, 0}, []int{0}},
		{"two in turn", []uint32{1, 2, 1, 2, 1}, []uint32{2, 3, 4, 1, 0}, []int{0, 1}},
		{"one alone", []uint32{3, 8, 8}, []uint32{0, 2, 1}, []int{0, 1}},
	} {
		job := big.UnitJob{Job: big.Job{Neighbourhoods: len(test.pinned), Workers: 2}}
		b := newTestBoard(t, job.Job)
		for number, pinned := range test.pinned {
			b.neighbourhoods[number].pinned.Store(pinned)
		}
		c, err := newCore(b, job)
		testset.Must(t, err)
		if firsts := c.linkCircles(); !slices.Equal(firsts, test.firsts) {
			t.Errorf("%s: the first are %v, want %v", test.name, firsts, test.firsts)
		}
		var next []uint32
		for number := range b.neighbourhoods {
			next = append(next, b.neighbourhoods[number].next.Load())
		}
		if !slices.Equal(next, test.next) {
			t.Errorf("%s: the next are %v, want %v", test.name, next, test.next)
		}
	}
}

func TestUnpinnedNeighbourhoodsFormCircles(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 9, Workers: 2}}
	b := newTestBoard(t, job.Job)
	c, err := newCore(b, job)
	testset.Must(t, err)
	seen := map[uint32]bool{}
	for _, first := range c.linkCircles() {
		for at := b.neighbourhoods[first].next.Load(); !seen[at]; at = b.neighbourhoods[at].next.Load() {
			seen[at] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d of 9 neighbourhoods are in a circle", len(seen))
	}
}

// TestPassOn: a turn goes to the next neighbourhood that is not done, and only when it is over or its holder
// is done.
func TestPassOn(t *testing.T) {
	const over, running = 0, 1 << 62
	for _, test := range []struct {
		name  string
		done  []int // neighbourhoods
		ends  int64
		gates []uint32 // afterwards
	}{
		{"the turn is not over", nil, running, []uint32{open, closed, closed}},
		{"the turn is over", nil, over, []uint32{closed, open, closed}},
		{"the next one is done", []int{1}, over, []uint32{closed, closed, open}},
		{"the holder is done", []int{0}, running, []uint32{closed, open, closed}},
		{"all others are done", []int{1, 2}, over, []uint32{open, closed, closed}},
		{"all are done", []int{0, 1, 2}, running, []uint32{open, closed, closed}},
	} {
		job := big.UnitJob{Job: big.Job{Neighbourhoods: 3, Workers: 2}}
		b := newTestBoard(t, job.Job)
		for number := range b.neighbourhoods {
			b.neighbourhoods[number].next.Store(uint32(number+1) % 3)
		}
		for _, number := range test.done {
			b.neighbourhoods[number].finished.Store(2)
		}
		b.neighbourhoods[0].gate.Store(open)
		b.neighbourhoods[0].turnEnds.Store(test.ends)
		r := rest{board: b, home: &b.neighbourhoods[0], gang: true}
		testset.Must(t, r.passOn())
		var gates []uint32
		for number := range b.neighbourhoods {
			gates = append(gates, b.neighbourhoods[number].gate.Load())
		}
		if !slices.Equal(gates, test.gates) {
			t.Errorf("%s: the gates are %v, want %v", test.name, gates, test.gates)
		}
	}
}

func TestLiftedGateStaysOpen(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 2, Workers: 2}}
	b := newTestBoard(t, job.Job)
	for number := range b.neighbourhoods {
		b.neighbourhoods[number].next.Store(uint32(number+1) % 2)
		testset.Must(t, b.neighbourhoods[number].lift())
	}
	r := rest{board: b, home: &b.neighbourhoods[0], gang: true}
	testset.Must(t, errors.Join(r.passOn(), b.neighbourhoods[1].begin(0)))
	for number := range b.neighbourhoods {
		if gate := b.neighbourhoods[number].gate.Load(); gate != lifted {
			t.Errorf("gate %d is %d after it was lifted", number, gate)
		}
	}
}
