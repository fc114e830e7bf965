package agent

import (
	"errors"
	"fmt"
	"io"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// The commands of the agent's program, which the agent itself and the conductor start. That has
// units of its own host kept by it, too: a janitor for every trial and a keeper for every server have to be
// small programs.
const (
	ServeCommand   = "serve"   // Serve; the program's own path follows
	CleanCommand   = "clean"   // removes what dead agents have left here, and names it
	JanitorCommand = "janitor" // process.Janitor
	KeeperCommand  = "keeper"  // process.Keep
	sweeperCommand = "sweeper" // leftovers.Sweep
)

// Main is the main function of the agent's program.
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
		kept, err := process.KeeperArguments(args[1:])
		if err != nil {
			return err
		}
		return process.Keep(in, out, kept)
	}
	return fmt.Errorf("%q is no command of the agent: it is started by cleave, not by hand", args)
}

// clean removes what agents have left that are dead, and says so: a line for each thing.
func clean(out io.Writer, program string) (err error) {
	defer func() { err = errors.Join(err, removeProgram(program)) }()
	found, err := leftovers.Find(leftovers.Root())
	for _, leftover := range found.Left {
		gone, failed := leftover.Remove()
		if gone {
			_, _ = fmt.Fprintln(out, leftover) // who does not hear it has gone
		}
		err = errors.Join(err, failed)
	}
	return err
}
