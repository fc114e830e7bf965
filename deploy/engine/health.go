package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// HealthcheckOf returns a health check in the daemon's words; nil: what the image says.
func HealthcheckOf(h *lab.HealthCheck) *Healthcheck {
	switch {
	case h == nil:
		return nil
	case h.Port != 0: // that of the container is called, and no command runs in it
		return &Healthcheck{Test: []string{"NONE"}}
	}
	span := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return &Healthcheck{Test: h.Test, Interval: span(h.Interval), Timeout: span(h.Timeout),
		StartPeriod: span(h.StartPeriod), StartInterval: span(h.StartInterval), Retries: h.Retries}
}

// lookAgain is the pause between two questions to the daemon whether a container is healthy.
const lookAgain = 20 * time.Millisecond

// AwaitHealthy waits until the health check of a container says that it is healthy. ended is closed when the
// container has ended.
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
			said := ""
			if n := len(health.Log); n > 0 {
				said = ": " + strings.TrimSpace(health.Log[n-1].Output)
			}
			return errors.New("is unhealthy" + said)
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
