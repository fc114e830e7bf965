package kubernetes

import (
	"context"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// podCache holds the last known state of the trial's pods, by name.
type podCache struct {
	fleet.Changes
	pods  map[string]api.Pod
	gone  map[string]bool      // pods that were deleted; they stay in pods
	first map[string]time.Time // when the server first reported a pod
}

func newPodCache() *podCache {
	return &podCache{pods: map[string]api.Pod{}, gone: map[string]bool{}, first: map[string]time.Time{}}
}

// store stores the state of a pod.
func (c *podCache) store(pod api.Pod, gone bool) {
	c.Update(func() { c.note(pod, gone) })
}

// reset stores the state of all pods. Those known before that are not among them are gone.
func (c *podCache) reset(pods []api.Pod) {
	c.Update(func() {
		for name := range c.pods {
			c.gone[name] = true
		}
		for _, pod := range pods {
			c.note(pod, false)
		}
	})
}

// note stores the state of a pod, within Update.
func (c *podCache) note(pod api.Pod, gone bool) {
	name := pod.Metadata.Name
	if _, known := c.pods[name]; !known {
		c.first[name] = time.Now()
	}
	c.pods[name] = pod
	c.gone[name] = gone
}

// awaitNew waits for a pod of a group whose program runs, other than the known ones. It also returns when the
// server first reported the pod.
func (c *podCache) awaitNew(
	ctx context.Context, group string, known map[string]bool,
) (pod api.Pod, first time.Time, err error) {
	err = c.Await(ctx, func() (bool, error) {
		for name, one := range c.pods {
			if one.Metadata.Labels[labelGroup] != group || known[name] || c.gone[name] {
				continue
			}
			if runs, err := started(one, false); runs || err != nil {
				pod, first = one, c.first[name]
				return true, err
			}
		}
		return false, nil
	})
	return pod, first, err
}

// awaitPod waits until enough returns true or an error for the state of a pod. It returns that state and
// error.
func (c *podCache) awaitPod(
	ctx context.Context, name string, enough func(pod api.Pod, gone bool) (bool, error),
) (pod api.Pod, err error) {
	err = c.Await(ctx, func() (bool, error) {
		one, known := c.pods[name]
		if !known {
			return false, nil
		}
		pod = one
		return enough(pod, c.gone[name])
	})
	return pod, err
}
