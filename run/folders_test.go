package run

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestFoldersAreMadeWhileOthersRemoveTheirs checks makeFolder while others remove the shared parent whenever
// it is empty.
func TestFoldersAreMadeWhileOthersRemoveTheirs(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	var conductors sync.WaitGroup
	for n := range 4 {
		conductors.Go(func() {
			own := filepath.Join(shared, strconv.Itoa(n))
			for range 500 {
				if err := errors.Join(makeFolder(filepath.Join(own, "trial")), os.RemoveAll(own)); err != nil {
					t.Error(err)
					return
				}
				_ = os.Remove(shared) // it fails unless it is empty
			}
		})
	}
	conductors.Wait()
}
