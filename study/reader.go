package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// Limits of a study file, in bytes.
const (
	MaxBytes = yamlfile.SmallFile
	maxText  = 2_000 // of one text
)

// format returns the format of study files.
func format() yamlfile.Format { return yamlfile.Small("study", lab.StudySchema) }

// reader walks the values of a study file.
type reader struct{ yamlfile.Reader }

// fields hands every value of an object to the reader of its key. Unknown,
// repeated and missing keys are problems.
type fields map[string]func(*yaml.Node)

func (r *reader) object(node *yaml.Node, what string, known fields, required ...string) {
	seen := r.Pairs(node, what, func(key *yaml.Node, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			r.UnknownKey(key, what, slices.Sorted(maps.Keys(known)))
			return
		}
		read(value)
	})
	for _, key := range required {
		if seen != nil && !seen[key] {
			r.Problem(node.Line, "%s needs the key %q", what, key)
		}
	}
}

// text returns a reader of a text value.
func (r *reader) text(what string, into *string) func(*yaml.Node) {
	return func(node *yaml.Node) {
		switch {
		case node.Kind != yaml.ScalarNode:
			r.Problem(node.Line, "%s is %s, expected a text", what, yamlfile.Show(node))
		case len(node.Value) > maxText:
			r.Problem(node.Line, "%s has %d bytes, at most %d are allowed", what, len(node.Value), maxText)
		case node.Tag == "!!null", strings.TrimSpace(node.Value) == "":
			r.Problem(node.Line, "%s is empty, expected a text", what)
		case unprintable(node.Value):
			r.Problem(node.Line, "%s is %q, which has control characters", what, node.Value)
		default:
			*into = strings.TrimSpace(node.Value)
		}
	}
}

func (r *reader) texts(what string, into *[]string) func(*yaml.Node) {
	return func(node *yaml.Node) {
		r.List(node, what, func(_ int, child *yaml.Node) {
			var text string
			r.text(what, &text)(child)
			*into = append(*into, text)
		})
	}
}

// number returns a reader of a number within limits.
func (r *reader) number(what string, lowest, highest float64, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseFloat(node.Value, 64)
		if node.Kind != yaml.ScalarNode || err != nil || !(value >= lowest && value <= highest) {
			r.Problem(node.Line, "%s is %s, expected a number from %g to %g", what, yamlfile.Show(node),
				lowest, highest)
			return
		}
		*into = value
	}
}

func (r *reader) whole(what string, lowest, highest int, into *int) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.Atoi(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || value < lowest || value > highest {
			r.Problem(node.Line, "%s is %s, expected a whole number from %d to %d", what,
				yamlfile.Show(node), lowest, highest)
			return
		}
		*into = value
	}
}

// flag returns a reader of true or false.
func (r *reader) flag(what string, into *bool) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseBool(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.Problem(node.Line, "%s is %s, expected true or false", what, yamlfile.Show(node))
			return
		}
		*into = value
	}
}

func (r *reader) seed(into *uint64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseUint(node.Value, 10, 64)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.Problem(node.Line, "seed is %s, expected a whole number from 0 to %d", yamlfile.Show(node),
				uint64(math.MaxUint64))
			return
		}
		*into = value
	}
}

// share returns a reader of a share of one, as a percentage or a fraction.
func (r *reader) share(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		digits, percent := strings.CutSuffix(node.Value, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if percent {
			value /= 100
		}
		if node.Kind != yaml.ScalarNode || err != nil || !(value >= 0 && value < 1) {
			r.Problem(node.Line, "%s is %s, expected a share such as 5%% or 0.05", what, yamlfile.Show(node))
			return
		}
		*into = value
	}
}

// Longest is the longest time span of an experiment: sums of some still fit a
// time.Duration.
const Longest = 7 * 24 * time.Hour

// duration returns a reader of a time span, into seconds.
func (r *reader) duration(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		span, err := time.ParseDuration(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || span <= 0 || span > Longest {
			r.Problem(node.Line, "%s is %s, expected a time span such as 90s or 30m, at most %.0fh", what,
				yamlfile.Show(node),
				Longest.Hours())
			return
		}
		*into = span.Seconds()
	}
}

// Rate reads a number of bytes per second, such as 100KiB or 2MB.
func Rate(text string) (float64, error) {
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes == 0 {
		return 0, fmt.Errorf("%q is no number of bytes per second such as 100KiB or 2MB", text)
	}
	return float64(bytes), nil
}

// rate returns a reader of a number of bytes per second.
func (r *reader) rate(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := Rate(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.Problem(node.Line, "%s is %s, expected bytes per second such as 100KiB or 2MB", what,
				yamlfile.Show(node))
			return
		}
		*into = value
	}
}

// size returns a reader of a number of bytes, written as Rate writes it.
func (r *reader) size(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := Rate(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.Problem(node.Line, "%s is %s, expected bytes such as 64MiB or 1GB", what, yamlfile.Show(node))
			return
		}
		*into = value
	}
}
