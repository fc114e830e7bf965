package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

// The names of the contenders.
const (
	threads     = "threads"
	threadsFast = "threads-fast"
	httpKeep    = "http keep-alive"
	httpLean    = "http-lean"
	uds         = "uds"
	udsBinary   = "uds-persistent binary"
	udsJSON     = "uds-persistent json"
	grpc        = "grpc"
	shm         = "shm"
	shmGang     = "shm gang"
	tokio       = "tokio mpsc"
)

// size is the shape of a job.
type size struct{ neighbourhoods, workers int }

// small and large are the sizes of the study's first and last parameter set.
func small() size { return size{10, 10} }

func large() size { return size{10, 50} }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.neighbourhoods, s.workers) }

// contender is a program that runs once per round. The number of pings is chosen so that a trial takes one to
// two seconds on two cores: long enough that the fixed costs of a trial do not matter.
type contender struct {
	name         string
	size         size
	pings        int    // per worker
	architecture string // empty for tokio, which peer.go runs
	knobs        map[string]string
}

func (c contender) String() string { return c.name + " " + c.size.String() }

func (c contender) variant() lab.Variant {
	return lab.Variant{Name: c.String(), System: big.Name, Architecture: c.architecture, Knobs: c.knobs,
		Deployment: "process"}
}

func (c contender) job() big.Job {
	return big.Job{Neighbourhoods: c.size.neighbourhoods, Workers: c.size.workers, Pings: c.pings}
}

func (c contender) point() lab.Point { return c.job().Point(c.size.String()) }

// contenders lists all contenders.
func contenders() []contender {
	set := func(knob, value string) map[string]string { return map[string]string{knob: value} }
	return []contender{
		{threads, small(), 40_000, big.Threads, nil},
		{threadsFast, small(), 400_000, big.ThreadsFast, nil},
		{httpKeep, small(), 200, big.HTTP, set(big.KnobKeepAlive, "on")},
		{httpLean, small(), 2_000, big.HTTPLean, nil},
		{uds, small(), 400, big.UDS, nil},
		{udsBinary, small(), 4_000, big.UDSPersistent, set(big.KnobEncoding, "binary")},
		{udsJSON, small(), 4_000, big.UDSPersistent, set(big.KnobEncoding, "json")},
		{grpc, small(), 200, big.GRPC, nil},
		{shm, small(), 15_000, big.SHM, set(big.KnobGang, "off")},
		{shmGang, small(), 15_000, big.SHM, set(big.KnobGang, "on")},
		{tokio, small(), 100_000, "", nil},
		{threads, large(), 8_000, big.Threads, nil},
		{threadsFast, large(), 80_000, big.ThreadsFast, nil},
		{uds, large(), 80, big.UDS, nil},
		{shm, large(), 3_000, big.SHM, set(big.KnobGang, "off")},
		{shmGang, large(), 3_000, big.SHM, set(big.KnobGang, "on")},
		{tokio, large(), 20_000, "", nil},
	}
}

// choose returns those of all contenders that are named, or all if names is empty. It changes the list.
func choose(all []contender, names string) ([]contender, error) {
	if names == "" {
		return all, nil
	}
	chosen := strings.Split(names, ",")
	for _, name := range chosen {
		if !slices.ContainsFunc(all, func(c contender) bool { return c.name == name }) {
			return nil, fmt.Errorf("-only: there is no contender %q", name)
		}
	}
	return slices.DeleteFunc(all, func(c contender) bool { return !slices.Contains(chosen, c.name) }), nil
}
