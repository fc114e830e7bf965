package unit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Main is the main function of our unit programs. run gets the channel to the conductor and the unit's job,
// which is the only argument. A failure is sent to the conductor and to standard error. The exit code is 1
// after a failure and 2 without a job.
func Main(run func(channel *Channel, job string) error) {
	name := filepath.Base(os.Args[0])
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s JOB\n\ncleave starts this program; it is of no use by hand.\n", name)
		os.Exit(2)
	}
	channel, err := Open()
	if err == nil {
		err = run(channel, os.Args[1])
	}
	switch {
	case err == nil:
		return
	case errors.Is(err, ErrGone): // nobody would read the failure
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		if channel != nil {
			_ = channel.Failed(err) // if that fails, the exit code still tells of the failure
		}
	}
	os.Exit(1)
}
