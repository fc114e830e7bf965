package spans

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestSpansAreBounded sets the number of kept spans to a little less than maxKept before it starts spans.
// Creating, writing and reading all of them would take long with the race detector.
func TestSpansAreBounded(t *testing.T) {
	p := NewProvider(1)
	const room, more = 2 * perPiece, 2*perPiece + 100
	p.counts.Kept = maxKept - room
	var workers sync.WaitGroup
	for worker := range 2 {
		workers.Go(func() {
			for range more / 2 {
				_, entry := Enter(context.Background(), p, fmt.Sprint(worker))
				entry.End()
				entry.End() // a second End does nothing
			}
		})
	}
	workers.Wait()
	if got := p.Counts(); got.Kept != maxKept || got.Dropped != 100 {
		t.Errorf("%+v", got)
	}
	dir := t.TempDir()
	for range 2 { // dropped spans are reported once
		if err := p.Write(dir, "shop-1"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(File(dir, "shop-1"))
	report := `{"key":"` + lab.DroppedAttribute + `","value":{"stringValue":"100"}}`
	if n := strings.Count(string(text), report); err != nil || n != 1 {
		t.Errorf("the file reports %d times that 100 spans were dropped, %v", n, err)
	}
	if all, err := Read(dir); err != nil || len(all) != room {
		t.Errorf("%d spans are read, %v", len(all), err)
	}
}
