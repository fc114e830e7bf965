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

// fields are the readers of the values of an object, by their keys.
type fields map[string]func(*yaml.Node)

// object hands every value of an object to the reader of its key.
func (r *reader) object(node *yaml.Node, what string, known fields, required ...string) {
	r.Object(node, what, slices.Sorted(maps.Keys(known)), required,
		func(key, value *yaml.Node) { known[key.Value](value) })
}

// byName returns the values of an object by their keys; what is the object in messages.
func byName[T any](
	r *reader, node *yaml.Node, what string, read func(name string, value *yaml.Node, into *T),
) map[string]T {
	all := map[string]T{}
	r.Pairs(node, what, func(key, value *yaml.Node) {
		var one T
		read(key.Value, value, &one)
		all[key.Value] = one
	})
	return all
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

// plain returns a reader of a plain value. parse returns what a text means, and whether it can be that.
func plain[T any](
	r *reader, what, expected string, into *T, parse func(text string) (T, bool),
) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, ok := parse(node.Value)
		if node.Kind != yaml.ScalarNode || !ok {
			r.Problem(node.Line, "%s is %s, expected %s", what, yamlfile.Show(node), expected)
			return
		}
		*into = value
	}
}

// number returns a reader of a number within limits.
func (r *reader) number(what string, lowest, highest float64, into *float64) func(*yaml.Node) {
	return plain(r, what, fmt.Sprintf("a number from %g to %g", lowest, highest), into,
		func(text string) (float64, bool) {
			value, err := strconv.ParseFloat(text, 64)
			return value, err == nil && value >= lowest && value <= highest
		})
}

func (r *reader) whole(what string, lowest, highest int, into *int) func(*yaml.Node) {
	return plain(r, what, fmt.Sprintf("a whole number from %d to %d", lowest, highest), into,
		func(text string) (int, bool) {
			value, err := strconv.Atoi(text)
			return value, err == nil && value >= lowest && value <= highest
		})
}

// flag returns a reader of true or false.
func (r *reader) flag(what string, into *bool) func(*yaml.Node) {
	return plain(r, what, "true or false", into, func(text string) (bool, bool) {
		value, err := strconv.ParseBool(text)
		return value, err == nil
	})
}

func (r *reader) seed(into *uint64) func(*yaml.Node) {
	return plain(r, "seed", fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)), into,
		func(text string) (uint64, bool) {
			value, err := strconv.ParseUint(text, 10, 64)
			return value, err == nil
		})
}

// share returns a reader of a share of one, as a percentage or a fraction.
func (r *reader) share(what string, into *float64) func(*yaml.Node) {
	return plain(r, what, "a share such as 5% or 0.05", into, func(text string) (float64, bool) {
		digits, percent := strings.CutSuffix(text, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if percent {
			value /= 100
		}
		return value, err == nil && value >= 0 && value < 1
	})
}

// Longest is the longest time span of an experiment: sums of some still fit a
// time.Duration.
const Longest = 7 * 24 * time.Hour

// duration returns a reader of a time span, into seconds.
func (r *reader) duration(what string, into *float64) func(*yaml.Node) {
	expected := fmt.Sprintf("a time span such as 90s or 30m, at most %.0fh", Longest.Hours())
	return plain(r, what, expected, into, func(text string) (float64, bool) {
		span, err := time.ParseDuration(text)
		return span.Seconds(), err == nil && span > 0 && span <= Longest
	})
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
	return r.bytes(what, "bytes per second such as 100KiB or 2MB", into)
}

// size returns a reader of a number of bytes, written as Rate writes it.
func (r *reader) size(what string, into *float64) func(*yaml.Node) {
	return r.bytes(what, "bytes such as 64MiB or 1GB", into)
}

func (r *reader) bytes(what, expected string, into *float64) func(*yaml.Node) {
	return plain(r, what, expected, into, func(text string) (float64, bool) {
		value, err := Rate(text)
		return value, err == nil
	})
}
