package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// losses records which nodes of a cluster were cut off or killed, and when the cluster noticed. The zero
// value is empty. Its methods may be called from several goroutines.
type losses struct {
	mu     sync.Mutex
	byNode map[string]*loss
}

// loss is the watch of one node that is lost.
type loss struct {
	noticed atomic.Int64 // nanoseconds until the cluster reported the node as lost; 0: it has not yet
	end     context.CancelFunc
}

// watchInterval is the pause between two questions to a cluster about a node that is lost.
const watchInterval = 100 * time.Millisecond

// watch records that a node is lost from now on. It polls the cluster in the background until that reports
// the node as lost, the node is found, or ctx ends.
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
		if Until(ctx, watchInterval, func() (bool, error) {
			noticed, err := isLost(ctx)
			return err == nil && noticed, nil
		}) == nil {
			lost.noticed.Store(int64(time.Since(since)))
		}
	}()
}

// found ends the watch of a node that is back.
func (l *losses) found(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byNode[node].end()
}

// noticedAfter returns the time that the cluster took to notice that a node is lost; 0 if it has not.
func (l *losses) noticedAfter(node string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.byNode[node]; lost != nil {
		return time.Duration(lost.noticed.Load())
	}
	return 0
}
