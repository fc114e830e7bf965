package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// MaxBytes is the largest size of a study file, in bytes.
const MaxBytes = yamlfile.SmallFile

// maxText is the largest size of one text in a study file, in bytes.
const maxText = 2_000

// format returns the format of study files, with the units of their numbers: seconds, shares of one, bytes
// and bytes per second.
func format() yamlfile.Format {
	f := yamlfile.Small("study", lab.StudySchema)
	f.MaxText = maxText
	f.Units = map[string]yamlfile.Unit{
		"span":    {Expected: spans, Parse: span},
		"share":   {Expected: "a share such as 5% or 0.05", Parse: share},
		"rate":    {Expected: "bytes per second such as 100KiB or 2MB", Parse: bytesOf},
		"size":    {Expected: "bytes such as 64MiB or 1GB", Parse: bytesOf},
		"warm-up": {Expected: spans + ", or " + Steady, Parse: warmUp},
	}
	return f
}

// Longest is the longest time span in a study file. Sums of several still fit a time.Duration.
const Longest = 7 * 24 * time.Hour

// spans describes a time span in messages. 168h is Longest.
const spans = "a time span such as 90s or 30m, at most 168h"

// span parses a time span and returns it in seconds.
func span(text string) (float64, bool) {
	d, err := time.ParseDuration(text)
	return d.Seconds(), err == nil && d > 0 && d <= Longest
}

// warmUp parses the length of a warm-up and returns it in seconds, infinity for "steady".
func warmUp(text string) (float64, bool) {
	if text == Steady {
		return math.Inf(1), true
	}
	return span(text)
}

// share parses a share of one, given as a percentage or a fraction. It refuses the whole, 1 or 100%.
func share(text string) (float64, bool) {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	return value, err == nil && value >= 0 && value < 1
}

// Rate parses a number of bytes per second, such as 100KiB or 2MB.
func Rate(text string) (float64, error) {
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes == 0 {
		return 0, fmt.Errorf("%q is no number of bytes per second such as 100KiB or 2MB", text)
	}
	return float64(bytes), nil
}

// bytesOf parses a number of bytes in the notation of Rate.
func bytesOf(text string) (float64, bool) {
	value, err := Rate(text)
	return value, err == nil
}
