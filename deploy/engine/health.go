package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// HealthcheckOf returns a health check in the form of the API; nil means the image's check.
func HealthcheckOf(h *lab.HealthCheck) *Healthcheck {
	switch {
	case h == nil:
		return nil
	case h.Port != 0: // we call the container's port, and the daemon runs no command in it
		return &Healthcheck{Test: []string{"NONE"}}
	}
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	return &Healthcheck{Test: h.Test, Interval: seconds(h.Interval), Timeout: seconds(h.Timeout),
		StartPeriod: seconds(h.StartPeriod), StartInterval: seconds(h.StartInterval), Retries: h.Retries}
}

// lookAgain is the pause between two questions to the daemon for the state of a container.
const lookAgain = 20 * time.Millisecond

// AwaitHealthy waits until the health check of a container has succeeded. ended is closed when the
// container has ended. Errors continue the name of the container, such as "is unhealthy".
func (c *Client) AwaitHealthy(ctx context.Context, container string, ended <-chan struct{}) error {
	for {
		state, err := c.State(ctx, container)
		switch health := state.Health; {
		case err != nil:
			return err
		case health == nil:
			return errors.New("has no health check, and others wait until it is healthy: give it one (healthcheck)")
		case health.Status == "healthy":
			return nil
		case health.Status == "unhealthy":
			output := ""
			if n := len(health.Log); n > 0 {
				output = ": " + strings.TrimSpace(health.Log[n-1].Output)
			}
			return errors.New("is unhealthy" + output)
		}
		select {
		case <-ended:
			return errors.New("ended before it was healthy")
		case <-ctx.Done():
			return fmt.Errorf("is not healthy: %w", context.Cause(ctx))
		case <-time.After(lookAgain):
		}
	}
}
