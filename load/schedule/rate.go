package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxRate is the highest rate of a schedule, in operations per second, because due times are whole
// nanoseconds.
const maxRate = 1e9

// ParseRate parses a rate: "5000" and "5000/s" per second, "300/m" per minute, "900/h" per hour, also
// with fractions, such as "0.5/s". It returns operations per second.
func ParseRate(text string) (float64, error) {
	number, per, given := strings.Cut(strings.TrimSpace(text), "/")
	seconds, known := 1.0, true
	if given {
		seconds, known = secondsIn(strings.TrimSpace(per))
	}
	if !known {
		return 0, fmt.Errorf("rate %q: unknown unit %q: use /s, /m (minute) or /h", text, per)
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %q is not a number: write for example 5000/s or 300/m", text, number)
	}
	rate := value / seconds
	if err := checkRate(rate); err != nil {
		return 0, fmt.Errorf("rate %q: %w", text, err)
	}
	return rate, nil
}

// secondsIn returns the length of a unit of time by its name.
func secondsIn(unit string) (float64, bool) {
	switch unit {
	case "s", "sec", "second":
		return 1, true
	case "m", "min", "minute":
		return 60, true
	case "h", "hour":
		return 3600, true
	}
	return 0, false
}

// checkRate returns an error unless the rate is above zero and possible.
func checkRate(rate float64) error {
	if !(rate > 0) || rate > maxRate {
		return fmt.Errorf("%g operations per second is out of range: use more than 0 and at most %g", rate,
			float64(maxRate))
	}
	return nil
}

// checkPart is checkRate for a part of a schedule, whose rate may be zero: a pause.
func checkPart(rate float64) error {
	if rate == 0 {
		return nil
	}
	return checkRate(rate)
}

// checkDuration returns an error unless the duration is above zero.
func checkDuration(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("duration %v is not above zero", d)
	}
	return nil
}
