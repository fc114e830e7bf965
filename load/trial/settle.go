package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Settle asks the target for a path and waits, for limit at most, for an answer with a status below 400:
// a target that answers operations before their work is done holds this answer back until all work is
// done. Settle asks again if the target cannot be reached or answers with a 5xx, because it may be
// starting; any other answer is an error. It returns the time from the first request until the work was
// done. A target that holds the answer back longer than its work takes says so in the header
// Server-Timing, as "settle;dur=" and the milliseconds since this request.
func (t *Trial) Settle(ctx context.Context, path string, limit time.Duration) (time.Duration, error) {
	until, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked := time.Now()
	for {
		last := time.Now()
		answer, body, err := t.get(until, path)
		switch {
		case err != nil:
		case answer.StatusCode < http.StatusBadRequest:
			return last.Sub(asked) + settledAfter(answer, time.Since(last)), nil
		default:
			err = badStatus(path, answer, body)
			if answer.StatusCode < http.StatusInternalServerError {
				return 0, fmt.Errorf("%s does not say when its work is done: %w", t.spec.Target, err)
			}
		}
		select {
		case <-until.Done():
			return 0, errors.Join(fmt.Errorf("%s did not say within %v that its work is done: %w", t.spec.Target,
				limit, err), ctx.Err())
		case <-time.After(awaitEvery):
		}
	}
}

// settledTime finds the milliseconds in a header Server-Timing.
var settledTime = regexp.MustCompile(`\bsettle;dur=([0-9.]+)`)

// settledAfter returns the time in the answer's Server-Timing if it is below the measured one, or else the
// measured time.
func settledAfter(answer *http.Response, measured time.Duration) time.Duration {
	timing := answer.Header.Get("Server-Timing")
	named := settledTime.FindStringSubmatch(timing)
	if named == nil {
		return measured
	}
	milliseconds, err := strconv.ParseFloat(named[1], 64)
	if err != nil {
		return measured
	}
	// The time may be beyond the range of a Duration.
	if said := milliseconds * float64(time.Millisecond); said < float64(measured) {
		return time.Duration(said)
	}
	return measured
}
