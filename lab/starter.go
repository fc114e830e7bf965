package lab

// StarterOrders tells the starter what to do, the first process of a container on nodes that have nothing of
// the conductor's host. They come as a file, JSON compressed by gzip, in which secrets may be.
type StarterOrders struct {
	Volume string         // the folder that is the unit's own; "": it is ready
	Files  []StarterFile  // what is in it to begin with
	User   int            // who runs the programs, and owns the volume; 0: who runs the starter
	Setups [][]string     // programs that run before, one after another
	Run    []string       // the unit's program
	Env    []string       // of all of them; none: that of the starter
	Dir    string         // where they begin; "": where the starter does
	Faults *StarterFaults // nil: the unit has none
}

// StarterFaults holds the address at which a starter hears from the conductor, and the token that proves who
// that is.
type StarterFaults struct{ Address, Token string }

// StarterFile is a file of a volume, or a folder.
type StarterFile struct {
	Path   string
	Folder bool
	Data   []byte
}

// StarterProgram is the name of the starter, below the top of the image and among the unit programs. Its
// first argument is one of its parts. A proxy has the address that it listens on as the second, and the
// network that it leads to as the third. A tunnel to the conductor has the address for units and that for the
// conductor.
const (
	StarterProgram = "starter"
	StarterRuns    = "run"
	StarterProxy   = "door"
	StarterTunnel  = "way"
)

// The files that the starter reads: its orders, and the key of a proxy (NewProxyKey) or of a tunnel.
const (
	StarterOrdersFile = "/run/secrets/orders"
	StarterKeyFile    = "/run/secrets/key"
)

// StarterOutOfMemory is the exit status of a starter whose program the kernel has ended at the
// limit of the container's memory.
const StarterOutOfMemory = 247

// What a conductor wants of a starter whose unit has faults, after a line with the token: that
// all processes of the unit end, that its program starts anew, that all processes stop or go on,
// or that something listens at a port. The starter answers with a line when it is so:
// StarterDone and what it has seen of that, or what went wrong.
const (
	StarterEnd      = "end"
	StarterStart    = "start"
	StarterStop     = "stop"
	StarterContinue = "continue"
	StarterListens  = "listens "
	StarterDone     = "done: "
)

// The messages on a tunnel, after a line with its key: the conductor says that this connection waits for a
// unit. When a unit has called, both sides say StarterCalled, one after the other, and then the connection is
// that unit's.
const (
	StarterWaits  = "wait"
	StarterCalled = "!"
)
