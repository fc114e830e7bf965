package engine

import (
	"context"
	"fmt"
	"net/url"
	"time"
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
