package httplean

import (
	"testing"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
	"github.com/cleave-lab/cleave/systems/big/httpservice"
)

func TestMain(m *testing.M) { bigtest.Main(m, httpservice.NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) { bigtest.WholeTrials(t, big.HTTPLean) }

func TestMalformedRequests(t *testing.T) { bigtest.MalformedHTTP(t, big.HTTPLean) }

func TestBrokenNeighbours(t *testing.T) { bigtest.BrokenHTTP(t, big.HTTPLean) }
