package big

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// spareDescriptors are open in every unit whatever its neighbours: standard
// streams, listener, poller, and what the Go runtime keeps.
const spareDescriptors = 32

// layout returns the units of a job in this architecture.
func (f family) layout(unit UnitJob) lab.Layout {
	if f.oneUnit {
		return oneUnitLayout(unit)
	}
	return serviceLayout(unit, f)
}

// oneUnitLayout puts all workers into one process.
func oneUnitLayout(unit UnitJob) lab.Layout {
	unit.Role = RoleAll
	return lab.Layout{Units: []lab.UnitSpec{unit.spec(RoleAll)}, Lead: RoleAll, Operations: unit.RoundTrips(),
		Descriptors: spareDescriptors}
}

// serviceLayout puts the core and every worker into a process of its own.
func serviceLayout(unit UnitJob, f family) lab.Layout {
	unit.Role = RoleCore
	core := unit.spec(RoleCore)
	core.Listens, core.Volume = f.listens, f.volume()
	layout := lab.Layout{
		Units: []lab.UnitSpec{core}, Lead: RoleCore, Operations: unit.RoundTrips(),
		Descriptors: spareDescriptors + max(f.peerConnections*unit.Workers, unit.Total()),
	}
	if f.sharedMemory {
		layout.SharedMemory = sharedMemory(unit.Job)
	}
	if f.sockets {
		// see udsservice.WorkerAddress
		layout.SocketName = len(f.volume() + "/" + WorkerName(unit.Total()) + ".sock")
	}
	unit.Role = RoleWorker
	for number := range unit.Total() {
		unit.Worker = number
		spec := unit.spec(WorkerName(number))
		f.place(&spec, unit)
		layout.Units = append(layout.Units, spec)
	}
	return layout
}

// volume returns the folder of a unit: one that all share where they have Unix sockets, else
// its own.
func (f family) volume() string {
	if f.sockets {
		return "sockets"
	}
	return ""
}

// place gives a worker its address, its runtime settings and its processor.
func (f family) place(spec *lab.UnitSpec, unit UnitJob) {
	spec.Env, spec.Volume = f.workerEnv, f.volume()
	if f.listens {
		spec.Listens = true
		spec.Peers = []string{RoleCore}
	}
	// A worker pings those of its neighbourhood, and says to the core that it is ready and done.
	spec.Uses = []lab.Use{{To: spec.Name, How: "pings"}, {To: RoleCore, How: "ready, start, done"}}
	if unit.Knob(knobPinned) == on {
		spec.Cores = []int{unit.Neighbourhood(unit.Worker)}
	}
}

func (u UnitJob) spec(name string) lab.UnitSpec {
	spec := kit.Unit(name, u.program(), u)
	spec.Role = u.Role
	return spec
}

// program returns the unit program of ours. That of gRPC is one of its own: to link it makes a
// program half as large again, and every start of it longer, whoever calls it or not.
func (u UnitJob) program() string {
	if u.Architecture == GRPC {
		return Name + "-grpc"
	}
	return Name
}

// WorkerName returns the name of a worker's unit. Names sort like numbers.
func WorkerName(number int) string { return fmt.Sprintf("worker-%05d", number) }
