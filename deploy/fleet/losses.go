package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// losses are the nodes of a cluster that were cut off or killed, and when the cluster noticed
// that. The zero value has none. Its methods may be called from several goroutines.
type losses struct {
	mu     sync.Mutex
	byNode map[string]*loss
}

type loss struct {
	noticed atomic.Int64 // nanoseconds until the cluster said that the node is lost; 0: it has not
	end     context.CancelFunc
}

// watchInterval is how often a cluster is asked about a node that is lost.
const watchInterval = 100 * time.Millisecond

// watch looks for when the cluster says that a node is lost, which it is from now on, until
// the node is found or ctx ends.
func (l *losses) watch(ctx context.Context, node string, isLost func(context.Context) (bool, error)) {
	ctx, end := context.WithCancel(ctx)
	lost, since := &loss{end: end}, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byNode == nil {
		l.byNode = map[string]*loss{}
	}
	l.byNode[node] = lost
	go func() {
		defer end()
		for {
			if noticed, err := isLost(ctx); err == nil && noticed {
				lost.noticed.Store(int64(time.Since(since)))
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchInterval):
			}
		}
	}()
}

// found ends the watch over a node, which is there again.
func (l *losses) found(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byNode[node].end()
}

// after returns how long the cluster took to notice that a node is lost; 0: it did not.
func (l *losses) after(node string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.byNode[node]; lost != nil {
		return time.Duration(lost.noticed.Load())
	}
	return 0
}
