package published

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

//go:embed *.json
var files embed.FS

const suffix = ".json"

// Study is everything that one study printed.
type Study struct {
	Schema string `json:"schema"`
	Study  string `json:"study"` // our name for it: "rego2021"
	Title  string `json:"title"`
	System string `json:"system"` // the system that was measured, and the hosts
	// Statuses explains each status that a figure may have.
	Statuses map[string]string `json:"statuses"`
	// Metrics names the metrics that figures may be mapped to; empty: those of lab.JobMetrics.
	Metrics []string `json:"metrics,omitempty"`
	// Points are the study's parameter sets in our factors, at full scale.
	Points   []lab.Point `json:"points"`
	Findings []Finding   `json:"findings"`
	Figures  []Figure    `json:"figures"`
}

// Finding is an error or a weakness of the study.
type Finding struct {
	Level string         `json:"level"` // StatusWrong or "method"
	Text  string         `json:"text"`
	Data  map[string]any `json:"data,omitempty"`
}

// Figure is one number that the study printed, in its own words and in ours.
type Figure struct {
	ID      string  `json:"id"`
	Source  string  `json:"source"` // table or section
	Variant string  `json:"published_variant"`
	Metric  string  `json:"published_metric"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
	// Missing marks a result without a printed number: an image, or words only. Value is 0 then.
	Missing    bool           `json:"missing,omitempty"`
	Recomputed *float64       `json:"recomputed"` // from the study's own data; nil if that is impossible
	Status     string         `json:"status"`
	Note       string         `json:"note"`
	Parameters map[string]any `json:"parameters"`
	Ours       Mapping        `json:"ours"`
}

// Mapping says which quantity of which of our variants and points a figure is.
type Mapping struct {
	Quantity Quantity `json:"quantity"`
	Metric   string   `json:"metric,omitempty"` // name of one of our metrics
	Variant  string   `json:"variant,omitempty"`
	Against  string   `json:"against,omitempty"` // denominator of a ratio
	Point    string   `json:"point,omitempty"`
	Points   []string `json:"points,omitempty"`
	Factor   string   `json:"factor,omitempty"`
	Run      int      `json:"run,omitempty"`  // from 1
	Line     string   `json:"line,omitempty"` // the study's name for a trend line
}

// Quantity is the kind of number that a figure is.
type Quantity string

// The quantities; see the package comment.
const (
	Run          Quantity = "run"
	Mean         Quantity = "mean"
	RatioOfMeans Quantity = "ratio_of_means"
	MeanOfRatios Quantity = "mean_of_ratios"
	Slope        Quantity = "slope"
	Intercept    Quantity = "intercept"
	Curve        Quantity = "curve"
	Setting      Quantity = "design"
	Unmeasured   Quantity = "unmeasured"
)

// StatusWrong is the status of a figure that contradicts the data it is computed from, and the level of a
// finding on such figures. A report must say so.
const StatusWrong = "wrong"

// Names lists the studies with published figures, in alphabetical order.
func Names() []string {
	names, _ := fs.Glob(files, "*"+suffix) // the pattern is valid
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, suffix)
	}
	return names
}

// Load returns the named study, or an error that lists the known ones.
func Load(name string) (*Study, error) {
	data, err := files.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("no published figures of study %q: there are those of %v", name, Names())
	}
	var s Study
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read the published figures of %q: %w", name, err)
	}
	return &s, nil
}

// Point returns the named parameter set at full scale.
func (s *Study) Point(name string) (lab.Point, bool) {
	i := slices.IndexFunc(s.Points, func(p lab.Point) bool { return p.Name == name })
	if i < 0 {
		return lab.Point{}, false
	}
	return s.Points[i], true
}

// Operations returns the number of operations of rego2021 at a point: the product of its levels
// (neighbourhoods x workers x pings).
func Operations(p lab.Point) float64 {
	product := 1.0
	for _, level := range p.Levels {
		product *= level
	}
	return product
}

// Seconds returns the unit of the figure in seconds, or false if the figure is not a time.
func (f Figure) Seconds() (float64, bool) {
	switch f.Unit {
	case "s":
		return 1, true
	case "ms", "ms per unit of x":
		return 1e-3, true
	}
	return 0, false
}

// UnitFactor returns the factor that converts the unit of the figure to ours (s, 1/s, 1, B), or false if it
// cannot be converted.
func (f Figure) UnitFactor() (float64, bool) {
	if seconds, isTime := f.Seconds(); isTime {
		return seconds, true
	}
	switch f.Unit {
	case "requests/min":
		return 1.0 / 60, true
	case "percent":
		return 0.01, true
	case "count", "ratio", "x", "1":
		return 1, true
	case "GiB":
		return 1 << 30, true
	}
	return 0, false
}
