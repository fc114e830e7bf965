package meter

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Points of a course are at least pointEvery apart: a second, less the possible error of the pauses
// between sampling rounds. The last point, at the closing mark, may be nearer.
const (
	pointEvery = 950 * time.Millisecond
	lastPoint  = 500 * time.Millisecond
)

// course holds the usage of the system's units from the first mark on, point by point. It uses the
// readings of the sampling rounds, so it costs nothing extra.
type course struct {
	points lab.UsageCourse
	at     time.Duration // time of the last point, since the first mark
	cpu    int64         // CPU time of the system from the first mark until then, nanoseconds
	units  []int64       // CPU clocks of all units then; nil before the first point
}

// byRoleFrom is the number of units from which on follows gets figures by role instead of by unit.
const byRoleFrom = 25

// follow adds a point to the course, unless the round lies before the first mark or is too near to the
// last point. cpu holds the CPU clocks of all units.
func (w *worker) follow(cpu []int64) {
	if len(w.marks) == 0 {
		return
	}
	c := &w.course
	at := time.Since(w.marks[0].at)
	passed := at - c.at
	least := pointEvery
	if w.complete() {
		least = lastPoint
	}
	if passed < least {
		return
	}
	var used, memory int64
	for i := range w.probes {
		if w.ofSystem(i) {
			used += cpu[i] - w.marks[0].units[i].cpu
			memory += w.current[i]
		}
	}
	c.points.End = append(c.points.End, at.Seconds())
	c.points.Cores = append(c.points.Cores, float64(used-c.cpu)/float64(at-c.at))
	c.points.Memory = append(c.points.Memory, memory)
	if w.follows != nil {
		w.follows(lab.UsedSecond{End: at.Seconds(), Cores: w.coresSince(cpu, at-c.at)})
	}
	c.at = at
	c.cpu = used
	c.units = cpu
}

// coresSince returns the mean number of processors in use since the last point, by unit or by role.
func (w *worker) coresSince(cpu []int64, passed time.Duration) map[string]float64 {
	cores := map[string]float64{}
	for i := range w.probes {
		before := w.marks[0].units[i].cpu
		if w.course.units != nil {
			before = w.course.units[i]
		}
		name := w.units[i].Name
		if len(w.probes) >= byRoleFrom {
			name = w.roles[w.roleOf[i]]
		}
		cores[name] += float64(cpu[i]-before) / float64(passed)
	}
	return cores
}

// ofSystem reports whether a unit belongs to the system; the generator does not.
func (w *worker) ofSystem(unit int) bool { return w.roles[w.roleOf[unit]] != lab.RoleGenerator }

// usageCourse returns the course of the system, or nil if it has no points or none of its units is
// metered. The course has no memory figures if the memory of a unit cannot be read.
func (w *worker) usageCourse() *lab.UsageCourse {
	points, system := w.course.points, 0
	for i, p := range w.probes {
		if !w.ofSystem(i) {
			continue
		}
		system++
		if reason := p.memoryMissing(); reason != "" && points.Memory != nil {
			points.Memory = nil
			points.Unavailable = map[string]string{"memory": "unit " + w.units[i].Name + ": " +
				reason}
		}
	}
	if system == 0 || len(points.End) == 0 {
		return nil
	}
	return &points
}
