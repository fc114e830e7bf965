package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/leftovers"
)

// taskCache holds the last known tasks of the trial. Swarm reports no changes, so it is asked again and
// again.
type taskCache struct {
	mu      sync.Mutex
	tasks   map[string]engine.Task // by service: the task, as each has one
	down    map[string]bool        // nodes
	changed chan struct{}          // closed when it was asked again
}

const (
	// askAgain is how long after an answer the swarm is asked again.
	askAgain = 150 * time.Millisecond
	// managerPatience is how long a manager may not answer before a trial fails.
	managerPatience = 30 * time.Second
)

// watch asks the swarm until the trial ends, and fails the trial if no answer comes for managerPatience.
func (t *homeTrial) watch() {
	for answered := time.Now(); t.Watching.Err() == nil; {
		err := t.ask()
		if err == nil {
			answered = time.Now()
		} else if time.Since(answered) > managerPatience {
			t.Fail(fmt.Errorf("the swarm %s has not answered for %v: %w: look whether its manager runs",
				t.home.swarm.Name, managerPatience, err))
		}
		select {
		case <-t.Watching.Done():
		case <-time.After(askAgain):
		}
	}
}

// ask asks once, and stores the answer.
func (t *homeTrial) ask() error {
	ctx, cancel := context.WithTimeoutCause(t.Watching, managerPatience,
		fmt.Errorf("no answer for %v", managerPatience))
	defer cancel()
	listed, err := t.manager.Tasks(ctx, "label", leftovers.DockerLabel+"="+t.deployer.label)
	if err != nil {
		return err
	}
	tasks := map[string]engine.Task{}
	gone := false
	for _, task := range listed {
		tasks[task.ServiceID] = task
		gone = gone || task.DesiredState == "shutdown" && task.Status.State == "running"
	}
	down := map[string]bool{}
	if gone { // by us, or with its node
		nodes, err := t.manager.SwarmNodes(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			down[n.ID] = n.Status.State == "down"
		}
	}
	t.cache.mu.Lock()
	defer t.cache.mu.Unlock()
	t.cache.tasks, t.cache.down = tasks, down
	close(t.cache.changed)
	t.cache.changed = make(chan struct{})
	return nil
}

// latest returns the task of a service, whether its node is down, and a channel that is closed when the swarm
// was asked again.
func (c *taskCache) latest(service string) (task engine.Task, known, down bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	task, known = c.tasks[service]
	return task, known, c.down[task.NodeID], c.changed
}

// awaitNone waits until no service has a task any more.
func (c *taskCache) awaitNone(ctx context.Context, services []*service) error {
	for _, s := range services {
		for {
			task, known, _, changed := c.latest(s.id)
			if !known {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("unit %s: its task is %s: %w", s.Spec.Name, task.Status.State, context.Cause(ctx))
			case <-changed:
			}
		}
	}
	return nil
}

// over reports whether a task has ended, however it began.
func over(t engine.Task) bool {
	return slices.Contains([]string{"complete", "failed", "rejected", "shutdown", "orphaned"}, t.Status.State)
}

// advised returns the state of a task as an error, with advice.
func advised(t engine.Task) error {
	if t.ID == "" {
		return errors.New("there is no task of it yet: look at docker service ls, and whether the manager is busy")
	}
	said := cmp.Or(t.Status.Err, t.Status.Message)
	switch lower := strings.ToLower(said); {
	case strings.Contains(lower, "no such image"), strings.Contains(lower, "pull"),
		strings.Contains(lower, "registry"):
		said += ": look whether the nodes reach the registry, trust it, and may read there"
	case strings.Contains(lower, "address already in use"), strings.Contains(lower, "port is already allocated"),
		strings.Contains(lower, "host-mode port already in use"):
		said += ": a program of that node has the port: end it, or publish it as a service, and another one is " +
			"taken"
	case strings.Contains(lower, "no suitable node"):
		said += ": look at docker node ls, and at what the nodes have left"
	}
	return errors.New(t.Status.State + ": " + said)
}
