package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// StopGrace is the time that a foreign program has between SIGTERM and SIGKILL.
const StopGrace = 10 * time.Second

// Life is one life of a container. Deployers embed it for the methods Kill, Pause, Resume and End of
// fleet.Instance.
type Life struct {
	Engine    *Client // of the daemon that runs it
	Container string  // its ID or name; "" until it is made
	Called    string  // its name in proofs, such as "the container"
}

// Kill sends SIGKILL to the first process of the container, with which the others end. The proof is true once
// the caller has waited for the end.
func (l *Life) Kill(ctx context.Context) (proof string, err error) {
	return l.Called + " has ended", l.Engine.act(ctx, l.Container, "kill", nil)
}

// Pause freezes the processes of the container.
func (l *Life) Pause(ctx context.Context) (proof string, err error) {
	return l.Called + " is paused", l.Engine.Pause(ctx, l.Container)
}

// Resume continues the processes that Pause has frozen.
func (l *Life) Resume(ctx context.Context) error {
	return l.Engine.act(ctx, l.Container, "unpause", nil)
}

// End asks the container to end, and kills it after StopGrace.
func (l *Life) End(ctx context.Context) error {
	return l.Engine.act(ctx, l.Container, "stop", url.Values{"t": {fmt.Sprint(StopGrace.Seconds())}})
}

// Gone returns an error if the container still has a process.
func (l *Life) Gone(ctx context.Context) error {
	state, err := l.Engine.State(ctx, l.Container)
	if err == nil && state.Pid != 0 {
		err = fmt.Errorf("%s is %q and has process %d", l.Called, state.Status, state.Pid)
	}
	return err
}

// HealthcheckOf returns a health check in the form of the API; nil means the image's check.
func HealthcheckOf(h *lab.HealthCheck) *Healthcheck {
	switch {
	case h == nil:
		return nil
	case h.Port != 0: // we call the container's port, and the daemon runs no command in it
		return &Healthcheck{Test: []string{"NONE"}}
	}
	return &Healthcheck{Test: h.Test, Interval: lab.Seconds(h.Interval), Timeout: lab.Seconds(h.Timeout),
		StartPeriod: lab.Seconds(h.StartPeriod), StartInterval: lab.Seconds(h.StartInterval), Retries: h.Retries}
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
