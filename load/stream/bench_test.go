package stream

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
)

// BenchmarkRecord measures the cost of one recorder for all goroutines.
func BenchmarkRecord(b *testing.B) {
	recorder := record.NewRecorder(record.Options{Operations: []string{"op"}, Timeout: time.Second})
	collected := make(chan error, 1)
	go func() {
		_, err := record.Collect(nil, recorder)
		collected <- err
	}()
	l := &loop{config: &Config{Load: engine.Load{Recorder: recorder}}, start: time.Now()}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			now := l.clock()
			l.record(record.Sample{Intended: now, Sent: now, Finished: now + time.Millisecond})
		}
	})
	recorder.Close(l.clock())
	testset.Must(b, <-collected)
}
