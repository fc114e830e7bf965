package agent

// Service is the name under which an agent offers its methods (net/rpc).
const Service = "Host"

// Ready is the line of an agent that takes calls from now on, and Mark begins the line before its
// program is sent, which tells the system and the processor of the host.
const (
	Ready = "cleave: ready\n"
	Mark  = "cleave: host "
)

// None is an empty message.
type None struct{}

// About describes the host of an agent.
type About struct {
	Address string // at which the conductor has called
	Port    int    // at which the agent listens there until it is told the first trial
}

// Piece is a piece of a program that is copied to the host. They come in its order.
type Piece struct {
	Name string // of the file; it has the program's hash
	Data []byte
	// First and Last say that it begins the file, and that the file is whole with it.
	First, Last bool
}

// Trial is one that begins.
type Trial struct {
	Name  string // of its folder
	Ports int    // how many its units and servers listen on
}

// Opened describes what a host has for a trial.
type Opened struct{ Ports []int }

// Started is one life of a unit.
type Started struct {
	Life int // its number among all
	PID  int // of its process, or its keeper's, as the host numbers them
}

// Told is something that a unit is told.
type Told struct {
	Life int
	Text []byte
}

// Heard is the next that was heard of a life.
type Heard struct {
	Out, Log    []byte
	Ended       bool
	How         string // of one that has ended badly
	OutOfMemory bool
}
