package httplean

import (
	"testing"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) {
	for _, trial := range bigtest.Sizes(big.HTTPLean) {
		t.Run(trial.Name(), func(t *testing.T) { bigtest.Run(t, trial) })
	}
}

func TestMalformedRequests(t *testing.T) { bigtest.MalformedHTTP(t, big.HTTPLean) }

func TestBrokenNeighbours(t *testing.T) { bigtest.BrokenHTTP(t, big.HTTPLean) }

func TestKilledWorker(t *testing.T) { bigtest.KilledWorker(t, big.HTTPLean) }
