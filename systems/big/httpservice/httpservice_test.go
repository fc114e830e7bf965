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
	bigtest.WholeTrials(t, big.HTTP, kept, notKept)
}

func TestMalformedRequests(t *testing.T) { bigtest.MalformedHTTP(t, big.HTTP) }

func TestBrokenNeighbours(t *testing.T) { bigtest.BrokenHTTP(t, big.HTTP) }
