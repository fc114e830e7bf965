package threads

import (
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestWholeTrials(t *testing.T) {
	for _, trial := range bigtest.Sizes(big.Threads) {
		t.Run(trial.Name(), func(t *testing.T) { bigtest.RunWorkers(t, NewWorkers, trial) })
	}
}

// TestChannelsHoldWhatCanBeOutstanding: the channels of a worker that does not read have room for a ping of
// every worker that may ping it and for a pong, so that no send ever blocks, and not for more: see
// pingCapacity.
func TestChannelsHoldWhatCanBeOutstanding(t *testing.T) {
	for _, test := range []struct {
		job     big.Job
		pingers int
	}{
		{big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}, 1},
		{big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1, SelfPings: true}, 2},
		{big.Job{Neighbourhoods: 3, Workers: 10, Pings: 1}, 9},
		{big.Job{Neighbourhoods: 3, Workers: 10, Pings: 1, SelfPings: true}, 10},
	} {
		w := newWorker(test.job, 0)
		for range test.pingers {
			if !offer(w.ping) {
				t.Fatalf("%+v: a ping blocks its sender though at most %d can wait", test.job, test.pingers)
			}
		}
		if !offer(w.pong) {
			t.Errorf("%+v: the pong blocks its sender", test.job)
		}
		if offer(w.ping) || offer(w.pong) {
			t.Errorf("%+v: there is room for more than %d pings and 1 pong", test.job, test.pingers)
		}
	}
}

// offer sends unless that would block, and reports whether it did.
func offer(channel chan int) bool {
	select {
	case channel <- 0:
		return true
	default:
		return false
	}
}

func TestWorkerRefuses(t *testing.T) {
	job := big.Job{Neighbourhoods: 1, Workers: 3, Pings: 5}
	for _, test := range []struct {
		name string
		send func(w *worker)
		want string
	}{
		{"pong without a ping", func(w *worker) { w.pong <- 1 }, "awaited -1"},
		{"ping of a stranger", func(w *worker) { w.ping <- 3 }, "got a ping from 3"},
	} {
		w := newWorker(job, 0)
		test.send(w)
		if err := w.work(nil, new(sync.WaitGroup)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestWorkersReportABrokenRule(t *testing.T) {
	c := NewWorkers(bigtest.Job(t, bigtest.Trial{Architecture: big.Threads, Neighbourhoods: 1, Workers: 2,
		Pings: 5})).(*workers)
	testset.Must(t, c.Gather())
	c.workers[0].pong <- 1 // without a ping
	if err := c.AwaitFinish(); err == nil || !strings.Contains(err.Error(), "awaited -1") {
		t.Errorf("got %v, want the error of worker 0", err)
	}
	close(c.workers[1].ping)
	c.ended.Wait()
}
