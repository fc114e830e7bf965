package agent

import (
	"errors"
	"fmt"
	"io"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Commands of the agent's program. The conductor also runs this program as the janitor and the keepers of
// units on its own host. There is a janitor for every trial and a keeper for every foreign unit, so the
// program is kept small.
const (
	ServeCommand   = "serve"   // calls Serve; the argument is the program's own path
	CleanCommand   = "clean"   // calls clean; likewise
	JanitorCommand = "janitor" // calls process.Janitor
	KeeperCommand  = "keeper"  // calls process.Keep
	sweeperCommand = "sweeper" // calls leftovers.Sweep
)

// Main is the main function of the agent's program. args holds the command and its arguments.
func Main(args []string, in io.ReadCloser, out io.Writer, meter lab.Meter) error {
	switch command := args[0]; {
	case command == ServeCommand && len(args) == 2:
		return Serve(in, out, args[1], meter)
	case command == CleanCommand && len(args) == 2:
		return clean(out, args[1])
	case command == JanitorCommand && len(args) == 2:
		return process.Janitor(in, args[1])
	case command == sweeperCommand && len(args) == 2:
		return leftovers.Sweep(in, args[1])
	case command == KeeperCommand:
		return process.Keep(in, out, args[1:])
	}
	return fmt.Errorf("%q is no command of the agent: it is started by cleave, not by hand", args)
}

// clean removes what dead agents have left on this host, and prints a line for each thing that it has
// removed. At last it removes its own program, and the folder into which that was copied.
func clean(out io.Writer, program string) (err error) {
	defer func() { err = errors.Join(err, removeProgram(program)) }()
	found, err := leftovers.Find(leftovers.Root())
	for _, leftover := range found.Left {
		gone, failed := leftover.Remove()
		if gone {
			_, _ = fmt.Fprintln(out, leftover) // it fails only if the conductor is gone
		}
		err = errors.Join(err, failed)
	}
	return err
}

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
