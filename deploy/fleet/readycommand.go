package fleet

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// outputPatience is how long the output of a command that has ended may stay open.
const outputPatience = time.Second

// commandVisit returns a visit that runs the unit's readiness command on this host: it succeeds if the
// command exits with 0. The command has this host's environment and the unit's.
func commandVisit(spec lab.UnitSpec) Visit {
	return func(ctx context.Context, address string) error {
		var marks []string
		if host, port, err := net.SplitHostPort(address); err == nil {
			marks = []string{"{host}", host, "{port}", port}
		}
		fill := strings.NewReplacer(marks...)
		words := make([]string, len(spec.Readiness.Command))
		for i, word := range spec.Readiness.Command {
			words[i] = fill.Replace(word)
		}
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Dir, command.WaitDelay = spec.Dir, outputPatience
		command.Env = os.Environ()
		for _, variable := range spec.Env {
			command.Env = append(command.Env, fill.Replace(variable))
		}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
		runtime.LockOSThread() // the kernel takes the end of the thread that began it for this program's
		defer runtime.UnlockOSThread()
		said := &Tail{}
		command.Stdout, command.Stderr = said, said
		err := command.Run()
		switch last := said.lastLine(); {
		case err == nil:
			return nil
		case last != "":
			return fmt.Errorf("%s: %w: %s", words[0], err, last)
		}
		return fmt.Errorf("%s: %w", words[0], err)
	}
}
