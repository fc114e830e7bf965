package criticalpath

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// finest limits the detail of a path: segments shorter than 1/finest of it are not shown.
const finest = 2000

// Path returns the path of an operation. share is the quantile that it represents among the sampled
// operations, and sampled is their number. There must be at least one stretch, and no gaps between them. A
// stretch that is too short to be seen is added to the previous one: most calls have several of about a
// microsecond.
func Path(share float64, operation string, sampled int, stretches []Stretch) lab.Path {
	begin := stretches[0].Start
	took := stretches[len(stretches)-1].End - begin
	p := lab.Path{Share: share, Operation: operation, Seconds: seconds(took), Sampled: sampled}
	for _, s := range stretches {
		if n := len(p.Segments); n > 0 {
			last := &p.Segments[n-1]
			isShort := (s.End-s.Start)*finest < took
			if isShort || s.isOf(last.Unit, last.Kind, last.Name) {
				last.Seconds = seconds(s.End-begin) - last.Start
				continue
			}
		}
		p.Segments = append(p.Segments, lab.Segment{Start: seconds(s.Start - begin),
			Seconds: seconds(s.End - s.Start), Unit: s.Unit, Kind: s.Kind, Name: s.Name})
	}
	return p
}

// Mean is the mean of paths.
type Mean struct {
	paths int
	sums  map[group]int64 // nanoseconds
}

// group identifies the segments that are summed: those of one kind in one unit.
type group struct {
	kind lab.SegmentKind
	unit string
}

// Add adds a path.
func (m *Mean) Add(stretches []Stretch) {
	if m.sums == nil {
		m.sums = map[group]int64{}
	}
	m.paths++
	for _, s := range stretches {
		m.sums[group{s.Kind, s.Unit}] += s.End - s.Start
	}
}

// Path returns the mean: one segment for each unit and kind.
func (m *Mean) Path() lab.Path {
	kinds := lab.SegmentKinds()
	groups := slices.SortedFunc(maps.Keys(m.sums), func(a, b group) int {
		byKind := slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind)
		return cmp.Or(byKind, cmp.Compare(a.unit, b.unit))
	})
	p := lab.Path{Share: lab.PathMean, Operation: "mean", Sampled: m.paths}
	for _, g := range groups {
		length := seconds(m.sums[g]) / float64(m.paths)
		p.Segments = append(p.Segments, lab.Segment{Start: p.Seconds, Seconds: length, Unit: g.unit, Kind: g.kind,
			Name: string(g.kind)})
		p.Seconds += length
	}
	return p
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }
