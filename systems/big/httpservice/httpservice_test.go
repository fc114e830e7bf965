package httpservice

import (
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) {
	kept := map[string]string{big.KnobKeepAlive: "on"}
	notKept := map[string]string{big.KnobKeepAlive: "off"}
	for _, trial := range bigtest.Sizes(big.HTTP, kept, notKept) {
		t.Run(trial.Name(), func(t *testing.T) { bigtest.Run(t, trial) })
	}
}

func TestMalformedRequests(t *testing.T) { bigtest.MalformedHTTP(t, big.HTTP) }

func TestBrokenNeighbours(t *testing.T) { bigtest.BrokenHTTP(t, big.HTTP) }

func TestKilledWorker(t *testing.T) { bigtest.KilledWorker(t, big.HTTP) }

func TestAddressTaken(t *testing.T) {
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	bigtest.Must(t, err)
	defer func() { _ = holder.Close() }() // nothing is buffered
	t.Setenv("CLEAVE_ADDRESS", holder.Addr().String())
	_, err = NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 1}})
	if err == nil || !strings.Contains(err.Error(), holder.Addr().String()) ||
		!strings.Contains(err.Error(), "run again") {
		t.Errorf("error %v, want one with the address and what to do", err)
	}
}
