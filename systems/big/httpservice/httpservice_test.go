package httpservice

import (
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
