package meter

import (
	"strconv"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestACourseTellsWhenTheSystemWorked checks that the points of a course hold the CPU time of the server, as
// the server itself measures it, and none after its work. The CPU time of a generator is in no point.
func TestACourseTellsWhenTheSystemWorked(t *testing.T) {
	const size = 32 << 20
	server := startChild(t, "server", "system")
	client := startChild(t, "client", lab.RoleGenerator)
	server.do("burn 100") // before the load, so it must not count
	var used, working float64
	m := between(t, func() {
		begun := time.Now()
		before := server.usage()
		server.do("burn 1200")
		server.do("allocate " + strconv.Itoa(size)) // which takes 0.1 s on a busy host
		used = (server.usage() - before).Seconds()
		working = time.Since(begun).Seconds()
		client.do("burn 1200")
		time.Sleep(2 * pointEvery)
	}, server, client)
	c := m.Course
	if c == nil || len(c.End) < 3 || len(c.Cores) != len(c.End) || len(c.Memory) != len(c.End) {
		t.Fatalf("the course is %+v, want a point each second", c)
	}
	late, begin := 0.0, 0.0
	for i, end := range c.End {
		lasts := end - begin
		if begin > working+0.1 {
			late += c.Cores[i] * lasts
		}
		if begin = end; lasts < lastPoint.Seconds() {
			t.Errorf("point %d is %g s after the one before", i, lasts)
		}
	}
	if all := cpuIn(c); all < used-0.02 || all > used+0.05 || late > 0.05 {
		t.Errorf("%g s of CPU are told, %g s of them after the work: want %g s and none", all, late, used)
	}
	if grown := c.Memory[len(c.Memory)-1] - m.Samples[0].MemoryBytes; c.Memory[len(c.Memory)-1] < size ||
		grown > size+size/8 {
		t.Errorf("the memory in the end is %d bytes, want those of the server with %d", c.Memory[len(c.Memory)-1],
			size)
	}
}

// TestWhoFollowsIsToldOfEachUnit checks that Follow reports the CPU time of each unit, a generator included,
// during the metering, from the first mark on.
func TestWhoFollowsIsToldOfEachUnit(t *testing.T) {
	server := startChild(t, "server", "system")
	client := startChild(t, "client", lab.RoleGenerator)
	metering := watch(t, server, client)
	used := map[string]float64{}
	begin := 0.0
	err := metering.(lab.FollowedMetering).Follow(func(s lab.UsedSecond) {
		for unit, cores := range s.Cores {
			used[unit] += cores * (s.End - begin)
		}
		begin = s.End
	})
	testset.Must(t, err)
	server.do("burn 300")
	testset.Must(t, metering.Mark())
	before := [2]time.Duration{server.usage(), client.usage()}
	server.do("burn 500")
	client.do("burn 200")
	time.Sleep(pointEvery)
	testset.Must(t, metering.Mark())
	if _, err := metering.Stop(); err != nil {
		t.Fatal(err)
	}
	want := [2]float64{(server.usage() - before[0]).Seconds(), (client.usage() - before[1]).Seconds()}
	for i, name := range []string{"server", "client"} {
		if got := used[name]; got < want[i]-0.02 || got > want[i]+0.02 {
			t.Errorf("%g s of CPU are told of the %s, want %g", got, name, want[i])
		}
	}
}

// cpuIn returns the CPU time in a course, in seconds.
func cpuIn(c *lab.UsageCourse) (sum float64) {
	if c == nil {
		return 0
	}
	begin := 0.0
	for i, end := range c.End {
		sum, begin = sum+c.Cores[i]*(end-begin), end
	}
	return sum
}

// TestACourseCountsAllProcessesOfATree checks that a course has the CPU time of all processes of a unit, and
// that a course without readable memory gives the reason.
func TestACourseCountsAllProcessesOfATree(t *testing.T) {
	parent := startChild(t, "server", "system")
	parent.unit.Span = lab.SpanTree
	m := between(t, func() {
		for range 2 {
			parent.do("run burn 600")
		}
		time.Sleep(lastPoint) // usage after the last point does not count
	}, parent)
	if all := cpuIn(m.Course); all < 1.1 || all > m.Total.CPUSeconds+0.05 {
		t.Errorf("%g s of CPU in the course, %g s between the marks: two children that burned 0.6 s", all,
			m.Total.CPUSeconds)
	}
	w := worker{roles: []string{"system"}, roleOf: []int{0}, units: []lab.Unit{parent.unit},
		probes: []source{&probe{unit: parent.unit, noMemory: "no such file"}}}
	w.course.points = lab.UsageCourse{End: []float64{1}, Cores: []float64{1}, Memory: []int64{0}}
	if c := w.usageCourse(); c.Memory != nil || c.Unavailable["memory"] != "unit server: no such file" ||
		len(c.Cores) != 1 {
		t.Errorf("the course is %+v, want one without memory, and why", c)
	}
}

// TestThereIsNoCourseOfAGeneratorAlone checks that a generator alone has no course, nor has a window that
// ends at once.
func TestThereIsNoCourseOfAGeneratorAlone(t *testing.T) {
	client := startChild(t, "client", lab.RoleGenerator)
	if m := between(t, func() { time.Sleep(pointEvery) }, client); m.Course != nil {
		t.Errorf("a system that runs somewhere else has the course %+v", m.Course)
	}
	if m := between(t, func() {}, startChild(t, "core", "core")); m.Course != nil {
		t.Errorf("of a moment there is the course %+v", m.Course)
	}
}
