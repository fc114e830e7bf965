package system

import (
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/kit/lines"
)

// code returns the lines of code of a design. In Go it counts the packages that the design uses, in Java and
// Node.js the whole airline.
func code(d architecture.Design) map[string]int {
	const own = "systems/airline/"
	switch d.Runtime {
	case architecture.Java:
		return lines.Of(own + "java/...")
	case architecture.Node:
		return lines.Of(own + "node/src/...")
	}
	packages := []string{"systems/airline", own + "airlineunit", own + "service", own + "store", own + "web"}
	binding := "" // that of package web
	if d.Calls == architecture.GRPC {
		binding = d.Calls
		packages = append(packages, own+"calls")
	}
	return lines.OfSystem(len(d.Units), binding, d.Settings, packages...)
}
