package lab

// StarterOrders tells the starter what to do. The starter is the first process of a container on nodes that
// share no files with the conductor's host. The orders are a file: JSON compressed with gzip, which may
// contain secrets.
type StarterOrders struct {
	Volume string         // the volume of the unit; "": it is ready
	Files  []StarterFile  // the first files of the volume
	User   int            // runs the programs, and owns the volume; 0: the user of the starter
	Setups [][]string     // programs that run before Run, one after another
	Run    []string       // the unit's program
	Env    []string       // of all programs; empty: that of the starter
	Dir    string         // the working folder of all programs; "": that of the starter
	Faults *StarterFaults // nil: the unit gets no faults
}

// StarterFaults holds the address at which a starter listens for the conductor, and the token that identifies
// the conductor.
type StarterFaults struct{ Address, Token string }

// StarterFile is a file or a folder in a volume.
type StarterFile struct {
	Path   string
	Folder bool
	Data   []byte
}

// StarterProgram is the name of the starter, in the root of images and among the unit programs. Its first
// argument selects one of its three tasks. For a proxy, the second argument is the address on which it
// listens, and the third the network of units, such as 198.18.0.0/22, to which it connects callers. For a
// tunnel to the conductor, they are the addresses for units and for the conductor.
const (
	StarterProgram = "starter"
	StarterRuns    = "run"
	StarterProxy   = "proxy"
	StarterTunnel  = "tunnel"
)

// The files that the starter reads: its orders, and the key of a proxy (NewProxyKey) or of a tunnel.
const (
	StarterOrdersFile = "/run/secrets/orders"
	StarterKeyFile    = "/run/secrets/key"
)

// StarterOutOfMemory is the exit status of a starter whose program was killed by the kernel at
// the memory limit of the container.
const StarterOutOfMemory = 247

// The requests of a conductor to a starter whose unit gets faults, after a line with the token:
// to end all processes of the unit, to start its program again, to stop or continue all
// processes, or to wait until something listens at a port. The starter answers with a line when
// it is done: StarterDone and what it has observed, or the error.
const (
	StarterEnd      = "end"
	StarterStart    = "start"
	StarterStop     = "stop"
	StarterContinue = "continue"
	StarterListens  = "listens "
	StarterDone     = "done: "
)

// The messages on a tunnel, after a line with its key. With StarterWaits the conductor says that the
// connection waits for a unit, which the tunnel confirms with StarterHeld. When a unit connects, the tunnel
// sends StarterCalled, the conductor answers with the same, and then the connection belongs to the unit.
const (
	StarterWaits  = "wait"
	StarterHeld   = "."
	StarterCalled = "!"
)
