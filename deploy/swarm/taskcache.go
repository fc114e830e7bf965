package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/leftovers"
)

// taskCache holds the last known state of the trial's tasks. Swarm reports no changes, so they are polled.
type taskCache struct {
	fleet.Changes
	tasks map[string]engine.Task // by the ID of their service, which has one task
	down  map[string]bool        // by the ID of a node; empty unless a task may be lost (updateTasks)
}

const (
	// taskPollInterval is the pause between two polls of the tasks.
	taskPollInterval = 150 * time.Millisecond
	// managerPatience limits how long a manager may be silent before the trial fails.
	managerPatience = 30 * time.Second
)

// watch updates the cache until the trial ends, and fails the trial if no answer comes for managerPatience.
func (t *userTrial) watch() {
	for answered := time.Now(); t.Watching.Err() == nil; {
		err := t.updateTasks(answered)
		if err == nil {
			answered = time.Now()
		} else if time.Since(answered) >= managerPatience {
			t.Fail(fmt.Errorf("the swarm %s has not answered for %v: %w: look whether its manager runs",
				t.site.swarm.Name, managerPatience, err))
		}
		select {
		case <-t.Watching.Done():
		case <-time.After(taskPollInterval):
		}
	}
}

// updateTasks asks the swarm, which has last answered at a time, once and stores the answer in the cache.
func (t *userTrial) updateTasks(answered time.Time) error {
	ctx, cancel := fleet.Patient(t.Watching, answered, managerPatience)
	defer cancel()
	listed, err := t.manager.Tasks(ctx, "label", leftovers.DockerLabel+"="+t.deployer.label)
	if err != nil {
		return err
	}
	tasks := map[string]engine.Task{}
	mayBeLost := false
	for _, task := range listed {
		tasks[task.ServiceID] = task
		if task.DesiredState == "shutdown" && task.Status.State == "running" {
			mayBeLost = true // or we have ended it
		}
	}
	down := map[string]bool{}
	if mayBeLost {
		nodes, err := t.manager.SwarmNodes(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			down[n.ID] = n.Status.State == "down"
		}
	}
	t.cache.Update(func() { t.cache.tasks, t.cache.down = tasks, down })
	return nil
}

// latest returns the task of a service, and whether the service is known to have one.
func (c *taskCache) latest(service string) (task engine.Task, known bool) {
	c.Look(func() { task, known = c.tasks[service] })
	return task, known
}

// awaitNone waits until none of the services has a task any more.
func (c *taskCache) awaitNone(ctx context.Context, services []*service) error {
	for _, s := range services {
		var task engine.Task
		if err := c.Await(ctx, func() (done bool, _ error) {
			last, known := c.tasks[s.id]
			task = last
			return !known, nil
		}); err != nil {
			return fmt.Errorf("unit %s: its task is %s: %w", s.Spec.Name, task.Status.State, err)
		}
	}
	return nil
}

// hasEnded reports whether a task has ended, or will never run.
func hasEnded(t engine.Task) bool {
	return slices.Contains([]string{"complete", "failed", "rejected", "shutdown", "orphaned"}, t.Status.State)
}

// describe returns the state of a task that does not run as an error, with advice.
func describe(t engine.Task) error {
	if t.ID == "" {
		return errors.New("there is no task of it yet: look at docker service ls, and whether the manager is busy")
	}
	message := cmp.Or(t.Status.Err, t.Status.Message)
	switch lower := strings.ToLower(message); {
	case strings.Contains(lower, "no such image"), strings.Contains(lower, "pull"),
		strings.Contains(lower, "registry"):
		message += ": look whether the nodes reach the registry, trust it, and may read there"
	case strings.Contains(lower, "address already in use"), strings.Contains(lower, "port is already allocated"),
		strings.Contains(lower, "host-mode port already in use"):
		// On a swarm of the user's only proxies have ports, on the first that no service publishes (userSite.open).
		message += ": a program of that node has the port: end it, or run it as a service that publishes the " +
			"port, since Cleave then uses the next one"
	case strings.Contains(lower, "no suitable node"):
		message += ": look at docker node ls, and at what the nodes have left"
	}
	return errors.New(t.Status.State + ": " + message)
}
