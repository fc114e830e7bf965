package report

import (
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// platforms returns the overhead of platforms at a point.
func (v view) platforms(at string) []lab.PlatformTake {
	return filter(v.Platforms, func(p lab.PlatformTake) bool { return p.Point.Name == at })
}

// platformPoint returns the point at which the overhead of platforms is shown.
func (v view) platformPoint() (string, bool) {
	return shownWhere(v, v.Platforms, func(p lab.PlatformTake) string { return p.Point.Name })
}

// platformCostTable shows the time that platforms took until units were ready, and their CPU and memory.
func (v view) platformCostTable() table {
	at, _ := v.platformPoint()
	t := table{ID: "platforms", Title: "What the platform itself costs, at " + v.at(at), Keys: 2,
		Note: "medians over trials; platform and images are made once, before the first trial; CPU, of one core, " +
			"and memory: of the platform's own processes, over the load",
		Columns: columns{}.text("variant", "deployment").number("from nothing", "platform", "images",
			"units", "image size", "CPU", "mean memory", "peak memory")}
	killed := slices.ContainsFunc(v.platforms(at), func(p lab.PlatformTake) bool { return p.BackSeconds > 0 })
	if killed {
		t.Columns = t.Columns.number("killed, back after")
	}
	noticed := slices.ContainsFunc(v.platforms(at),
		func(p lab.PlatformTake) bool { return p.NoticedSeconds > 0 })
	if noticed {
		t.Columns = t.Columns.number("lost node noticed after")
	}
	for _, p := range v.platforms(at) {
		var size float64
		for _, image := range p.Images {
			size += float64(image.Bytes)
		}
		took := func(s float64) cell { return unlessZero(s, seconds(s)) }
		bytes := func(b float64) cell { return unlessZero(b, figure.Amount(b, "B")) }
		var lost []cell
		if killed {
			lost = append(lost, took(p.BackSeconds))
		}
		if noticed {
			lost = append(lost, took(p.NoticedSeconds))
		}
		times := []cell{took(p.NothingSeconds), took(p.MadeSeconds), took(p.ImagesSeconds), took(p.ReadySeconds)}
		cpu := unlessZero(p.MeanMemory, figure.Percent(p.CPUShare)) // 0: it was not metered
		t.add(p.Variant, p.Deployment, times, bytes(size), cpu, bytes(p.MeanMemory), bytes(p.PeakMemory), lost)
	}
	return t
}

// startsTable shows the start-up time of each unit.
func (v view) startsTable() table {
	at, _ := v.platformPoint()
	t := table{ID: "starts", Title: "From a unit asked for to a unit ready, at " + v.at(at), Keys: 2,
		Columns: columns{}.text("variant", "unit").number("ready after"),
		Note: "medians over trials, the slowest first; a server is ready when a client can work, the unit " +
			"that leads when all are, others when their program has opened its control connection"}
	for _, p := range v.platforms(at) {
		for _, s := range p.Starts {
			t.add(p.Variant, s.Unit, seconds(s.Seconds))
		}
	}
	return t
}

// programsTable shows the usage of the platforms' programs, or why it is unknown.
func (v view) programsTable() table {
	at, _ := v.platformPoint()
	t := table{ID: "platform-programs", Title: "The platform's own programs, at " + v.at(at), Keys: 2,
		Columns: columns{}.text("variant").prose("program").number("processes", "CPU", "peak memory")}
	var sources []string
	for _, p := range v.platforms(at) {
		if p.Source != "" && !slices.Contains(sources, p.Source) {
			sources = append(sources, p.Source)
			t.Note = "medians over trials, CPU of one core; source: " + strings.Join(sources, "; ")
		}
		if p.Unmetered != "" {
			t.add(p.Variant, toned("not metered: "+p.Unmetered, toneWarn), "", "", "")
		}
		for _, program := range p.Processes {
			t.add(p.Variant, program.Name, plainNumber(program.Processes), figure.Percent(program.CPUShare),
				figure.Amount(program.PeakMemory, "B"))
		}
	}
	return t
}

// platformSection shows the overhead of platforms.
func (v view) platformSection() section {
	return section{ID: "platforms", Title: "The platform",
		Shown: []table{v.platformCostTable()}, Folded: []table{v.programsTable(), v.startsTable()},
		HowTo: "What deployments need beside the units: time until they run, images, daemons and control planes " +
			"that work and hold memory whatever the units do. " +
			"It is in no figure of the units. A platform that serves many systems divides it among them; what a " +
			"trial has to itself is the most that it can be."}
}
