package kubernetes

import (
	"context"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// podCache holds the last known state of the trial's pods, by name.
type podCache struct {
	mu      sync.Mutex
	pods    map[string]api.Pod
	gone    map[string]bool      // pods that were deleted; they stay in pods
	first   map[string]time.Time // when the server first reported a pod
	changed chan struct{}        // closed with the next change
}

func newPodCache() *podCache {
	return &podCache{pods: map[string]api.Pod{}, gone: map[string]bool{}, first: map[string]time.Time{},
		changed: make(chan struct{})}
}

// update stores the state of a pod.
func (c *podCache) update(pod api.Pod, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(pod, gone)
	c.wake()
}

// reset stores the state of all pods. Those known before that are not among them are gone.
func (c *podCache) reset(pods []api.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.pods {
		c.gone[name] = true
	}
	for _, pod := range pods {
		c.note(pod, false)
	}
	c.wake()
}

// note stores the state of a pod. The mutex is held.
func (c *podCache) note(pod api.Pod, gone bool) {
	name := pod.Metadata.Name
	if _, known := c.pods[name]; !known {
		c.first[name] = time.Now()
	}
	c.pods[name], c.gone[name] = pod, gone
}

// firstSeen returns when the server first reported a pod.
func (c *podCache) firstSeen(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first[name]
}

// wake wakes those who wait for a change. The mutex is held.
func (c *podCache) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// awaitNew waits for a pod of a group whose program runs, other than the known ones.
func (c *podCache) awaitNew(ctx context.Context, group string, known map[string]bool) (api.Pod, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		var found []api.Pod
		for name, pod := range c.pods {
			if pod.Metadata.Labels[labelGroup] == group && !known[name] && !c.gone[name] {
				found = append(found, pod)
			}
		}
		c.mu.Unlock()
		for _, pod := range found {
			if runs, err := started(pod, false); runs || err != nil {
				return pod, err
			}
		}
		select {
		case <-ctx.Done():
			return api.Pod{}, context.Cause(ctx)
		case <-changed:
		}
	}
}

// await waits until enough returns true or an error for the state of a pod. It returns that state and error.
func (c *podCache) await(
	ctx context.Context, name string, enough func(pod api.Pod, gone bool) (bool, error),
) (api.Pod, error) {
	for {
		c.mu.Lock()
		pod, known := c.pods[name]
		gone, changed := c.gone[name], c.changed
		c.mu.Unlock()
		if known {
			if done, err := enough(pod, gone); done || err != nil {
				return pod, err
			}
		}
		select {
		case <-ctx.Done():
			return pod, context.Cause(ctx)
		case <-changed:
		}
	}
}
