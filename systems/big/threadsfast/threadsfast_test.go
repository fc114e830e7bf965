package threadsfast

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestWholeTrials(t *testing.T) {
	for _, processors := range []int{1, 2, 4} {
		for _, trial := range bigtest.Sizes(big.ThreadsFast) {
			t.Run(fmt.Sprintf("%s on %d", trial.Name(), processors), func(t *testing.T) {
				onProcessors(t, processors)
				bigtest.RunWorkers(t, NewWorkers, trial)
			})
		}
	}
}

// onProcessors sets GOMAXPROCS until the end of the test.
func onProcessors(t *testing.T, processors int) {
	before := runtime.GOMAXPROCS(processors)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestNothingIsAllocatedPerRoundTrip(t *testing.T) {
	const pings = 20_000
	trial := bigtest.Trial{Architecture: big.ThreadsFast, Neighbourhoods: 2, Workers: 5, Pings: pings}
	workers := NewWorkers(bigtest.Job(t, trial))
	testset.Must(t, workers.Gather())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	testset.Must(t, workers.KickOff())
	testset.Must(t, workers.AwaitFinish())
	runtime.ReadMemStats(&after)
	if allocated := after.Mallocs - before.Mallocs; allocated > pings/10 {
		t.Errorf("%d allocations for %d round trips", allocated, 10*pings)
	}
	testset.Must(t, workers.Dismiss())
}

func TestWorkersReportABrokenRule(t *testing.T) {
	for _, test := range []struct {
		name string
		put  func(c *workers) (wasIdle bool)
		want string
	}{
		{"pong without a ping", func(c *workers) bool {
			c.messages[firstSlot].from = firstSlot + 1
			return c.workers[firstSlot].inbox.putPong()
		}, "awaited -1"},
		{"ping of a stranger", func(c *workers) bool {
			c.messages[firstSlot+2].from = firstSlot + 2
			return c.workers[firstSlot].inbox.putPing(c.messages, firstSlot+2)
		}, "got a ping from 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial := bigtest.Trial{Architecture: big.ThreadsFast, Neighbourhoods: 2, Workers: 2, Pings: 5}
			c := NewWorkers(bigtest.Job(t, trial)).(*workers)
			testset.Must(t, c.Gather())
			if !test.put(c) {
				t.Fatal("a fresh worker is not idle")
			}
			c.processors[0].queue.push(firstSlot)
			c.bench.begin()
			if err := c.AwaitFinish(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			testset.Must(t, c.Dismiss())
		})
	}
}

// TestMailboxUnderManySenders: several senders ping one reader concurrently, each again after its pong. The
// reader is queued only once at a time and gets every ping once, and no pong is lost.
func TestMailboxUnderManySenders(t *testing.T) {
	const senders, each = 4, 20_000
	var reader mailbox
	homes := make([]mailbox, int(firstSlot)+senders)
	messages := make([]message, int(firstSlot)+senders)
	queued := make(chan struct{}, 1)
	wake := func() {
		select {
		case queued <- struct{}{}:
		default:
			t.Error("the reader was queued twice")
		}
	}
	for sender := firstSlot; sender < firstSlot+senders; sender++ {
		go func() {
			for range each {
				messages[sender].from = sender
				if reader.putPing(messages, sender) {
					wake()
				}
				for back := false; !back; back, _ = homes[sender].takeAll() {
					runtime.Gosched()
				}
			}
		}()
	}
	pings := make([]int, len(homes))
	for got := 0; got < senders*each; {
		<-queued
		pong, at := reader.takeAll()
		if pong {
			t.Error("the reader got a pong that nobody sent")
		}
		for at != vacant {
			from, next := messages[at].from, messages[at].next
			pings[from]++
			got++
			homes[from].putPong()
			at = next
		}
		if !reader.rest() {
			wake()
		}
	}
	for sender := firstSlot; sender < firstSlot+senders; sender++ {
		if pings[sender] != each {
			t.Errorf("%d pings of sender %d, want %d", pings[sender], sender, each)
		}
	}
	if state := reader.state.Load(); state != idle {
		t.Errorf("the mailbox ends as %d, want idle", state)
	}
}

func TestMailboxTakesPongBesidePings(t *testing.T) {
	messages := make([]message, firstSlot+3)
	for _, test := range []struct {
		name string
		put  []slot // the senders of pings; kickOff stands for the pong
		want []slot // pings, newest first
	}{
		{"pong alone", []slot{kickOff}, nil},
		{"pong first", []slot{kickOff, firstSlot, firstSlot + 1}, []slot{firstSlot + 1, firstSlot}},
		{"pong between", []slot{firstSlot, kickOff, firstSlot + 1}, []slot{firstSlot + 1, firstSlot}},
		{"pong last", []slot{firstSlot, firstSlot + 2, kickOff}, []slot{firstSlot + 2, firstSlot}},
	} {
		var m mailbox
		for i, at := range test.put {
			put := func() bool { return m.putPing(messages, at) }
			if at == kickOff {
				put = m.putPong
			}
			if wasIdle := put(); wasIdle != (i == 0) {
				t.Errorf("%s: message %d found the mailbox idle: %t", test.name, i, wasIdle)
			}
		}
		pong, at := m.takeAll()
		var got []slot
		for ; at != vacant; at = messages[at].next {
			got = append(got, at)
		}
		if !pong || !slices.Equal(got, test.want) || !m.rest() {
			t.Errorf("%s: pong %t, pings %v, want %v", test.name, pong, got, test.want)
		}
	}
}

func TestQueueKeepsOrderAroundTheRing(t *testing.T) {
	q := newQueue(5)
	next := slot(0)
	oldest := slot(0)
	for range 100 {
		for q.length() < 5 {
			q.push(next)
			next++
		}
		for q.length() > 2 {
			if got := q.pop(); got != oldest {
				t.Fatalf("got %d, want %d", got, oldest)
			}
			oldest++
		}
	}
}

func TestBench(t *testing.T) {
	busy := newProcessor(10)
	sleeper := newProcessor(10)
	for at := range slot(7) {
		busy.queue.push(at)
	}
	var b bench
	b.share(busy) // there is no sleeper
	if busy.queue.length() != 7 {
		t.Fatalf("%d of 7 workers are left though there is no sleeper", busy.queue.length())
	}
	var sat sync.WaitGroup
	stays := false
	sat.Go(func() { stays = b.sit(sleeper) })
	for end := time.Now().Add(time.Minute); b.waiting.Load() == 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("no processor waits after a minute")
		}
	}
	b.share(busy)
	sat.Wait()
	if !stays || busy.queue.length() != 4 || sleeper.queue.length() != 3 || sleeper.queue.pop() != 0 {
		t.Errorf("the sleeper got %d workers, %d were kept; want the 3 oldest", sleeper.queue.length(),
			busy.queue.length())
	}
	b.close()
	if b.sit(sleeper) {
		t.Error("a processor may wait on a closed bench")
	}
}
