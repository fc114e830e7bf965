package kubernetes

import (
	"context"
	"sync"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// told is what the server has told of the trial's pods.
type told struct {
	mu      sync.Mutex
	pods    map[string]api.Pod
	gone    map[string]bool
	changed chan struct{} // closed with the next news
}

func newTold() *told {
	return &told{pods: map[string]api.Pod{}, gone: map[string]bool{}, changed: make(chan struct{})}
}

// tell takes in the state of a pod.
func (t *told) tell(pod api.Pod, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pods[pod.Metadata.Name], t.gone[pod.Metadata.Name] = pod, gone
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
		t.pods[pod.Metadata.Name], t.gone[pod.Metadata.Name] = pod, false
	}
	t.news()
}

// news wakes those who wait. The mutex is held.
func (t *told) news() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until what was told of a pod is enough, or wrong.
func (t *told) await(ctx context.Context, name string, enough func(pod api.Pod, gone bool) (bool, error)) (api.Pod, error) {
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
