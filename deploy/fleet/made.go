package fleet

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Made is what a deployer has made once for all trials, and how long that took: its platform,
// and images. The zero value is of one that has made nothing. Its methods may be called from
// several goroutines.
type Made struct {
	mu       sync.Mutex
	platform time.Duration
	making   time.Duration
	images   []lab.ProgramImage
}

// Platform notes that the platform was made, which took so long since; what images there
// were went with the one before.
func (m *Made) Platform(since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.platform, m.making, m.images = time.Since(since), 0, nil
}

// Image notes that the image of a unit program was made and brought to where units run. One
// of no program has next to nothing in it, and is not listed; bytes are 0 where nobody knows.
func (m *Made) Image(program string, bytes int64, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.making += time.Since(since)
	if program == "" || bytes == 0 {
		return
	}
	m.images = append(m.images, lab.ProgramImage{Program: filepath.Base(program), Bytes: bytes})
	slices.SortFunc(m.images, func(a, b lab.ProgramImage) int { return strings.Compare(a.Program, b.Program) })
}

// Cost adds what was made to how long units took. A nil Made has made nothing.
func (m *Made) Cost(starts lab.PlatformCost) lab.PlatformCost {
	if m == nil {
		return starts
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	starts.MadeSeconds, starts.ImagesSeconds, starts.Images = m.platform.Seconds(), m.making.Seconds(),
		slices.Clone(m.images)
	return starts
}
