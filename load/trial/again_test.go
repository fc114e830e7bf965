package trial

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestNoLoadTakesAValueAgain: a warm-up, the load and the probes of a search share sequences and rows, in
// both engines.
func TestNoLoadTakesAValueAgain(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path]++
	})
	limit := objective.MustParse("p99<10s")
	for name, change := range map[string]func(*Spec){
		"HTTP/1.1": func(s *Spec) { s.Loops = 2 }, "HTTP/2": func(s *Spec) { s.Protocol = HTTP2 },
	} {
		mu.Lock()
		clear(seen)
		mu.Unlock()
		s := specFor(t, url)
		s.Scenario.Values = map[string]scenario.Value{"user": {Sequence: new(int64(1))}}
		s.Scenario.Flows[0].Steps[0].Request = "GET /${user}"
		change(&s)
		load := prepare(t, s)
		warmUp, err := load.Warmup(200 * time.Millisecond)
		testset.Must(t, err)
		for _, played := range []*Trial{warmUp, load} {
			if _, err := played.Play(t.Context(), Hooks{}); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		fixed := len(seen)
		mu.Unlock()
		ctx, stop := context.WithCancel(t.Context())
		search := CapacitySearch{Objective: limit, Probed: func(record.Probe) { stop() }} // one probe is enough
		_, _ = load.Search(ctx, search)
		mu.Lock() // the search was stopped: its last requests may still be arriving
		sent := maps.Clone(seen)
		mu.Unlock()
		if len(sent) < fixed+20 {
			t.Errorf("%s: %d flows of the loads, %d with the search", name, fixed, len(sent))
		}
		for path, times := range sent {
			if times > 1 {
				t.Fatalf("%s: %s was sent %d times", name, path, times)
			}
		}
	}
}
