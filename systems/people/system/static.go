package system

import (
	"github.com/cleave-lab/cleave/systems/kit/lines"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/records"
)

// code returns the lines of code of the packages of a design.
func code(d architecture.Design) map[string]int {
	const own = "systems/people/"
	packages := []string{"systems/people", own + "gateway", own + "peopleunit", own + "records", own + "seal",
		"backing/wide"}
	if d.Lean {
		packages = append(packages, "binding/leanhttp")
	}
	return lines.OfSystem(len(d.Units), d.Calls, d.Settings, packages...)
}

// tables returns the tables of a design, each as "database.table".
func tables(d architecture.Design) (all []string) {
	for _, kind := range people.Kinds() {
		all = append(all, d.DatabaseOf(kind)+"."+records.Table(kind).Name)
	}
	return all
}
