package bigtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
	"github.com/cleave-lab/cleave/systems/big/grpcservice"
	"github.com/cleave-lab/cleave/systems/big/httplean"
	"github.com/cleave-lab/cleave/systems/big/httpservice"
	"github.com/cleave-lab/cleave/systems/big/udspersistent"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

func TestMain(m *testing.M) {
	bigtest.Main(m, map[string]bigtest.Architecture{
		big.HTTP:          {NewCore: httpservice.NewCore, RunWorker: httpservice.RunWorker},
		big.HTTPLean:      {NewCore: httplean.NewCore, RunWorker: httplean.RunWorker},
		big.UDS:           {NewCore: udsservice.NewCore, RunWorker: udsservice.RunWorker},
		big.UDSPersistent: {NewCore: udspersistent.NewCore, RunWorker: udspersistent.RunWorker},
		big.GRPC:          {NewCore: grpcservice.NewCore, RunWorker: grpcservice.RunWorker},
	})
}

// contender is an architecture with the number of pings that takes about as long
// as the others', and what its cost is compared with.
type contender struct {
	name     string
	trial    bigtest.Trial
	baseline string
}

func contenders() []contender {
	trial := func(architecture string, pings int, knobs map[string]string) bigtest.Trial {
		return bigtest.Trial{Architecture: architecture, Knobs: knobs, Neighbourhoods: 10, Workers: 10,
			Pings: pings}
	}
	return []contender{
		{"http", trial(big.HTTP, 300, nil), "http"},
		{"http-lean", trial(big.HTTPLean, 2000, nil), "http"},
		{"grpc", trial(big.GRPC, 300, nil), "http"},
		{"uds", trial(big.UDS, 500, nil), "uds"},
		{"uds-json", trial(big.UDSPersistent, 4000, map[string]string{big.KnobEncoding: "json"}), "uds"},
		{"uds-binary", trial(big.UDSPersistent, 4000, map[string]string{big.KnobEncoding: "binary"}), "uds"},
	}
}

// BenchmarkRoundTrip runs one trial of every architecture per iteration, one
// after the other, and reports the medians over the iterations: the workers'
// processor time per round trip in microseconds, and how many times cheaper that
// is than the baseline's in the same round. Run it with -benchtime 5x.
func BenchmarkRoundTrip(b *testing.B) {
	costs, ratios := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		round := map[string]float64{}
		for _, c := range contenders() {
			cost := bigtest.Run(b, c.trial).CPUPerRoundTrip()
			round[c.name] = float64(cost) / float64(time.Microsecond)
		}
		for _, c := range contenders() {
			costs[c.name] = append(costs[c.name], round[c.name])
			ratios[c.name] = append(ratios[c.name], round[c.baseline]/round[c.name])
		}
	}
	for _, c := range contenders() {
		b.ReportMetric(median(costs[c.name]), "µs/"+c.name)
		b.ReportMetric(median(ratios[c.name]), c.baseline+"/"+c.name)
	}
}

// median returns the middle value, the upper one of two.
func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
