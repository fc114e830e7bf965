package model

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Distribution holds how long something takes. The zero value takes no time.
type Distribution struct {
	Mean   time.Duration `yaml:"mean"`
	Source Source        `yaml:"source"`
	N      int           `yaml:"samples,omitempty"` // values that were measured
	// Quantiles are the shape. Without any, every value is the mean.
	Quantiles Quantiles `yaml:"quantiles,omitempty,flow"`
}

// Quantiles are the values of a distribution by their names: min, p50, p99.9, max.
type Quantiles map[string]time.Duration

// Point is a point of a distribution: the value that a share of all values does not exceed.
type Point struct {
	Share   float64 // 0 to 1
	Seconds float64
}

// quantileShare returns the share that the name of a quantile stands for, and whether it is one.
func quantileShare(name string) (float64, bool) {
	switch name {
	case "min":
		return 0, true
	case "max":
		return 1, true
	}
	digits, is := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(digits, 64)
	return percent / 100, is && err == nil && percent <= 100 && strings.Trim(digits, ".0123456789") == ""
}

// quantileName returns the name of the quantile of a share.
func quantileName(share float64) string {
	switch share {
	case 0:
		return "min"
	case 1:
		return "max"
	}
	return "p" + strconv.FormatFloat(share*100, 'g', 6, 64)
}

// Points returns the quantiles in the order of their shares, without those whose names are wrong.
func (q Quantiles) Points() []Point {
	var points []Point
	for name, value := range q {
		if share, known := quantileShare(name); known {
			points = append(points, Point{share, value.Seconds()})
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Share, b.Share) })
	return points
}

// MarshalYAML implements yaml.Marshaler. It writes the quantiles in the order of their shares.
func (q Quantiles) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, name := range slices.SortedFunc(maps.Keys(q), func(a, b string) int {
		first, _ := quantileShare(a)
		second, _ := quantileShare(b)
		return cmp.Or(cmp.Compare(first, second), cmp.Compare(a, b))
	}) {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name},
			&yaml.Node{Kind: yaml.ScalarNode, Value: q[name].String()})
	}
	return node, nil
}

// Seconds returns the mean in seconds.
func (d Distribution) Seconds() float64 { return d.Mean.Seconds() }

// Points returns the quantiles by their share, scaled so that the mean of all values is that of the
// distribution: a few quantiles do not give the exact mean, and AtRate changes only the mean. Without
// quantiles it returns the one value that all have.
func (d Distribution) Points() []Point {
	points := d.Quantiles.Points()
	mean, _ := Moments(points)
	if mean == 0 {
		return []Point{{0, d.Seconds()}}
	}
	for i := range points {
		points[i].Seconds *= d.Seconds() / mean
	}
	return points
}

// Moments returns the mean of values and the mean of their squares. The values are linear between the points,
// and flat beyond the first and the last. Both are 0 if there are no points.
func Moments(points []Point) (mean, square float64) {
	if len(points) == 0 {
		return 0, 0
	}
	first, last := points[0], points[len(points)-1]
	mean = first.Seconds*first.Share + last.Seconds*(1-last.Share)
	square = first.Seconds*first.Seconds*first.Share + last.Seconds*last.Seconds*(1-last.Share)
	for i, b := range points[1:] {
		a := points[i]
		width := b.Share - a.Share
		mean += width * (a.Seconds + b.Seconds) / 2
		square += width * (a.Seconds*a.Seconds + a.Seconds*b.Seconds + b.Seconds*b.Seconds) / 3
	}
	return mean, square
}

// leastForQuantiles is the lowest number of values for which Summarise computes quantiles.
const leastForQuantiles = 20

// Summarise returns the distribution of values, which are in seconds. It has quantiles if there are
// enough values.
func Summarise(values []float64, source Source) Distribution {
	if len(values) == 0 {
		return Distribution{}
	}
	values = slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	d := Distribution{Mean: duration(mean), Source: source, N: len(values)}
	if d.Mean == 0 || len(values) < leastForQuantiles {
		return d
	}
	d.Quantiles = Quantiles{}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 0.9, 0.99, 1} {
		nearest := int(share*float64(len(values)-1) + 0.5)
		d.Quantiles[quantileName(share)] = duration(values[nearest])
	}
	return d
}

// OfPoints returns the distribution of n values from some points of it. A single point is the mean.
func OfPoints(points []Point, source Source, n int) Distribution {
	d := Distribution{Source: source, N: n}
	if len(points) == 1 {
		d.Mean = duration(points[0].Seconds)
		return d
	}
	mean, _ := Moments(points)
	d.Mean = duration(mean)
	d.Quantiles = Quantiles{}
	for _, p := range points {
		d.Quantiles[quantileName(p.Share)] = duration(p.Seconds)
	}
	return d
}

// duration returns seconds as a duration with five significant digits: in a file for people, more would
// be noise.
func duration(seconds float64) time.Duration { return rounded(time.Duration(seconds*1e9), 5) }

// rounded returns a duration with a number of significant digits.
func rounded(d time.Duration, digits int) time.Duration {
	unit := time.Nanosecond
	for float64(d) > math.Pow10(digits)*float64(unit) {
		unit *= 10
	}
	return d.Round(unit)
}
