package fleet

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Made records what a deployer made once for all trials, and how long that took: its platform and images. The
// zero value is empty. Its methods may be called from several goroutines.
type Made struct {
	mu       sync.Mutex
	platform time.Duration // that the platform took
	making   time.Duration // that all images took
	images   []lab.ProgramImage
}

// Platform records that the platform was made between since and now. It forgets images: they were lost with
// the former platform.
func (m *Made) Platform(since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.platform = time.Since(since)
	m.making = 0
	m.images = nil
}

// Image records that the image of a unit program was made and brought to the nodes between since and now. It
// lists the image only if its size is known (bytes is not 0) and it has a program: others are almost empty.
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

// Cost returns starts, the start times of units, with the cost of the platform and its images. m may be nil.
func (m *Made) Cost(starts lab.PlatformCost) lab.PlatformCost {
	if m == nil {
		return starts
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	starts.MadeSeconds = m.platform.Seconds()
	starts.ImagesSeconds = m.making.Seconds()
	starts.Images = slices.Clone(m.images)
	return starts
}

// markUsable records that the unit can be used from now on.
func (u *Unit) markUsable() { u.usable.Store(int64(time.Since(u.asked))) }

// Starts returns how long the present lives of the units took to start, and how long all took until the lead
// unit was ready, counted from NewSupervisor.
func (s *Supervisor) Starts() lab.PlatformCost {
	var cost lab.PlatformCost
	for _, u := range s.All() {
		took := time.Duration(u.usable.Load())
		if took == 0 {
			continue
		}
		cost.Starts = append(cost.Starts, lab.UnitStart{Unit: u.Spec.Name, Seconds: took.Seconds()})
		if u.Spec.Name == s.lead {
			cost.ReadySeconds = u.asked.Add(took).Sub(s.begun).Seconds()
		}
	}
	return cost
}
