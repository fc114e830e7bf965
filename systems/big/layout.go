package big

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// spareDescriptors is the number of open files of a unit without its neighbours: standard streams, listener,
// poller, and those of the Go runtime.
const spareDescriptors = 32

// layout returns the units of a job in this architecture: one with all workers, or the core and one for each
// worker.
func (f family) layout(unit UnitJob) lab.Layout {
	if f.oneUnit {
		unit.Role = RoleAll
		return lab.Layout{Units: []lab.UnitSpec{unit.spec(RoleAll)}, Lead: RoleAll, Operations: unit.RoundTrips(),
			Descriptors: spareDescriptors}
	}
	unit.Role = RoleCore
	core := unit.spec(RoleCore)
	core.Listens = f.listens
	core.Volume = f.volume()
	layout := lab.Layout{
		Units: []lab.UnitSpec{core}, Lead: RoleCore, Operations: unit.RoundTrips(),
		Descriptors: spareDescriptors + max(f.peerConnections*unit.Workers, unit.Total()),
	}
	if f.sharedMemory {
		layout.SharedMemory = sharedMemory(unit.Job)
	}
	if f.sockets {
		longest := f.volume() + "/" + WorkerName(unit.Total()) + ".sock" // as in udsservice.WorkerAddress
		layout.SocketName = len(longest)
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

// volume returns the name of the volume that all units share for their Unix sockets; "" if each unit has its
// own folder.
func (f family) volume() string {
	if f.sockets {
		return "sockets"
	}
	return ""
}

// place completes the spec of a worker: its environment, volume, address, peers and core.
func (f family) place(spec *lab.UnitSpec, unit UnitJob) {
	spec.Env = f.workerEnv
	spec.Volume = f.volume()
	if f.listens {
		spec.Listens = true
		spec.Peers = []string{RoleCore}
	}
	// The picture of the architecture has one box for all workers, which calls itself.
	spec.Uses = []lab.Use{{To: spec.Name, How: "pings"}, {To: RoleCore, How: "ready, start, done"}}
	if unit.Knobs[knobPinned] == on {
		spec.Cores = []int{unit.Neighbourhood(unit.Worker)} // modulo the number of processors
	}
}

// spec returns the spec of a unit with this job.
func (u UnitJob) spec(name string) lab.UnitSpec {
	spec := kit.Unit(name, u.program(), u)
	spec.Role = u.Role
	return spec
}

// program returns the name of the unit program. gRPC has a program of its own: linking it makes a program
// larger by half and slower to start, even if it is not used.
func (u UnitJob) program() string {
	if u.Architecture == GRPC {
		return Name + "-grpc"
	}
	return Name
}

// WorkerName returns the name of a worker's unit. Names sort like numbers.
func WorkerName(number int) string { return fmt.Sprintf("worker-%05d", number) }
