package sim

import "math"

// A histogram has 128 equal bins between a power of two and the next, from 60 ns to 18 hours.
const (
	binBits  = 7
	leastExp = -24
	mostExp  = 16
	binCount = (mostExp - leastExp) << binBits
	firstBin = (1023 + leastExp) << binBits // 1023 is the bias of the exponent of a float64
)

// Histogram counts durations by their size: what falls into a bin is known to 0.8 %.
type Histogram struct {
	Count    uint64
	Min, Max float64
	counts   []uint64
}

// add counts a duration.
func (h *Histogram) add(seconds float64) {
	if h.counts == nil {
		h.counts = make([]uint64, binCount)
	}
	if h.Count == 0 {
		h.Min = seconds
		h.Max = seconds
	}
	h.Min = min(h.Min, seconds)
	h.Max = max(h.Max, seconds)
	h.Count++
	bin := int(math.Float64bits(seconds)>>(52-binBits)) - firstBin
	h.counts[max(0, min(bin, binCount-1))]++
}

// take moves all that another histogram has counted into this one.
func (h *Histogram) take(other *Histogram) {
	if other.Count == 0 {
		return
	}
	if h.Count == 0 {
		h.counts = make([]uint64, binCount)
		h.Min = other.Min
		h.Max = other.Max
	}
	h.Min = min(h.Min, other.Min)
	h.Max = max(h.Max, other.Max)
	h.Count += other.Count
	for i, n := range other.counts {
		h.counts[i] += n
	}
	clear(other.counts)
	other.Count = 0
}

// Quantile returns the duration that a share p of all does not exceed, interpolated within its bin; NaN of
// nothing.
func (h *Histogram) Quantile(p float64) float64 {
	if h.Count == 0 {
		return math.NaN()
	}
	rank, below := p*float64(h.Count), 0.0
	for i, n := range h.counts {
		if n > 0 && below+float64(n) >= rank {
			low := binStart(i)
			high := binStart(i + 1)
			return max(h.Min, min(h.Max, low+(high-low)*(rank-below)/float64(n)))
		}
		below += float64(n)
	}
	return h.Max
}

// binStart returns the least duration of a bin.
func binStart(bin int) float64 { return math.Float64frombits(uint64(bin+firstBin) << (52 - binBits)) }
