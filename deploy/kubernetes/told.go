package kubernetes

import (
	"context"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// told holds the news of the server of the trial's pods.
type told struct {
	mu      sync.Mutex
	pods    map[string]api.Pod
	gone    map[string]bool
	first   map[string]time.Time // when a pod was first told of
	changed chan struct{}        // closed with the next news
}

func newTold() *told {
	return &told{pods: map[string]api.Pod{}, gone: map[string]bool{}, first: map[string]time.Time{},
		changed: make(chan struct{})}
}

// tell takes in the state of a pod.
func (t *told) tell(pod api.Pod, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(pod, gone)
	t.news()
}

// reset takes in the state of all pods: others, of which was told before, are gone.
func (t *told) reset(pods []api.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.pods {
		t.gone[name] = true
	}
	for _, pod := range pods {
		t.note(pod, false)
	}
	t.news()
}

// note keeps the state of a pod. The mutex is held.
func (t *told) note(pod api.Pod, gone bool) {
	name := pod.Metadata.Name
	if _, known := t.pods[name]; !known {
		t.first[name] = time.Now()
	}
	t.pods[name], t.gone[name] = pod, gone
}

// since returns when a pod was first told of.
func (t *told) since(name string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first[name]
}

// news wakes those who wait. The mutex is held.
func (t *told) news() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// fresh waits for a pod of a group that is not among those known, and whose program runs.
func (t *told) fresh(ctx context.Context, group string, known map[string]bool) (api.Pod, error) {
	for {
		t.mu.Lock()
		changed := t.changed
		var found []api.Pod
		for name, pod := range t.pods {
			if pod.Metadata.Labels[labelGroup] == group && !known[name] && !t.gone[name] {
				found = append(found, pod)
			}
		}
		t.mu.Unlock()
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

// await waits until what was told of a pod is enough, or wrong.
func (t *told) await(
	ctx context.Context, name string, enough func(pod api.Pod, gone bool) (bool, error),
) (api.Pod, error) {
	for {
		t.mu.Lock()
		pod, known := t.pods[name]
		gone, changed := t.gone[name], t.changed
		t.mu.Unlock()
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
