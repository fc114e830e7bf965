package scenario

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// zipf draws whole numbers 1..n, the k-th with a probability proportional to
// 1/k^s, in constant time and without a table: rejection-inversion by Hörmann
// and Derflinger, "Rejection-inversion to generate variates from monotone
// discrete distributions", ACM TOMACS 6(3), 1996, in the notation of the paper.
// It draws from the area under h(x) = x^-s, whose integral H has a simple inverse,
// and rejects what lies outside the bars of the distribution. The distribution is
// exact, but for the rounding of float64.
type zipf struct {
	from     int64
	n        float64
	s        float64
	low      float64 // H(1.5) - h(1)
	high     float64 // H(n + 0.5)
	shortcut float64 // 2 - Hinverse(H(2.5) - h(2))
}

func newZipf(z Zipf) zipf {
	g := zipf{from: z.From, n: float64(z.To-z.From) + 1, s: z.Exponent}
	g.low = g.integral(1.5) - 1
	g.high = g.integral(g.n + 0.5)
	g.shortcut = 2 - g.inverse(g.integral(2.5)-g.density(2))
	return g
}

// density returns h(x).
func (g *zipf) density(x float64) float64 { return math.Exp(-g.s * math.Log(x)) }

// integral returns H(x) = (x^(1-s) - 1)/(1-s), or log x if s is 1, in a form that is exact near 1.
func (g *zipf) integral(x float64) float64 {
	l := math.Log(x)
	return l * expm1Ratio((1-g.s)*l)
}

// inverse returns the inverse of the integral.
func (g *zipf) inverse(x float64) float64 {
	t := max(x*(1-g.s), -1) // rounding may leave the domain of the inverse
	return math.Exp(x * log1pRatio(t))
}

// expm1Ratio returns (e^x - 1)/x.
func expm1Ratio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

// log1pRatio returns log(1 + x)/x.
func log1pRatio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}

func (g *zipf) draw(r *rand.Rand) int64 {
	for {
		u := g.high + r.Float64()*(g.low-g.high)
		x := g.inverse(u)
		k := min(max(math.Round(x), 1), g.n)
		if k-x <= g.shortcut || u >= g.integral(k+0.5)-g.density(k) {
			return int64(k)
		}
	}
}

func (g *zipf) appendNext(out []byte, r *rand.Rand) []byte {
	return strconv.AppendInt(out, g.from+g.draw(r)-1, 10)
}
