package agent

// Service is the name under which an agent offers its methods (net/rpc).
const Service = "Host"

// Ready is the line that an agent prints when it takes calls.
const Ready = "cleave: ready\n"

// SystemPrefix begins the line that the host prints before the program is sent. The host's system and
// processor follow, as uname -sm prints them.
const SystemPrefix = "cleave: host "

// None is an empty message.
type None struct{}

// Piece is a piece of a program that is copied to the host. The pieces are sent in order.
type Piece struct {
	Name string // of the file: the hash of the program
	Data []byte
	// First and Last mark the first and the last piece of the file.
	First, Last bool
}

// Trial describes a trial that begins.
type Trial struct {
	Name  string // of its folder
	Ports int    // number of ports on which units of this host listen
}

// Started describes one life of a unit that has started.
type Started struct {
	Life int // its number among all lives on the host
	PID  int // of its process, or of its keeper, on the host
}

// Input is input for a unit.
type Input struct {
	Life int
	Text []byte
}

// Output is the next output of a life, or its end.
type Output struct {
	Out, Log    []byte // standard output, and standard error
	Ended       bool
	Error       string // with which the life has ended; "": none
	OutOfMemory bool   // the kernel has killed it at its memory limit
}
