package process

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// stopGrace is the time that a foreign unit has between SIGTERM and SIGKILL.
const stopGrace = 10 * time.Second

// keeperCommand returns the command of a keeper for a foreign program. grace is the time that the program has
// between SIGTERM and SIGKILL.
func (d *deployment) keeperCommand(spec lab.UnitSpec, grace time.Duration) (*exec.Cmd, error) {
	keeper := d.deployer.keeper
	if len(keeper) == 0 {
		return nil, fmt.Errorf("unit %s is foreign, and this deployer has no keeper for it", spec.Name)
	}
	if spec.Compose != nil {
		return nil, fmt.Errorf("unit %s consists of containers: its deployment is compose", spec.Name)
	}
	workDir := cmp.Or(spec.Dir, d.Volume(spec))
	if _, err := os.Stat(workDir); err != nil {
		return nil, fmt.Errorf("unit %s shall run in a folder that is not there: %w", spec.Name, err)
	}
	program, err := findProgram(d.deployer.programOf(spec), workDir)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", spec.Name, err)
	}
	fill := fleet.Placeholders(spec, d.group.dir, d.Endpoints)
	kept := keptProgram{grace: grace, unprivileged: spec.Server != nil, program: []string{program}}
	for _, argument := range spec.Args {
		kept.program = append(kept.program, fill.Replace(argument))
	}
	command := launch.Command(keeper, kept.arguments()...)
	command.Dir = workDir
	command.Env = append(inherited(), d.environment(spec)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.WaitDelay = killPatience // for output that outlives a killed keeper
	return command, nil
}

// inherited returns the variables of the conductor's environment that foreign programs get: those for finding
// programs and files, for the language and the time zone. No others, so that no secret and no setting of the
// lab reaches the system under test.
func inherited() (environment []string) {
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		if value, set := os.LookupEnv(name); set {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

// CheckBinds refuses to start a unit at an address at which another program
// listens: that one would be measured in its place.
func CheckBinds(spec lab.UnitSpec) error {
	for _, address := range spec.Binds {
		listener, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("unit %s needs %s, which another program has: end that one, or use another port",
				spec.Name, address)
		}
		if err != nil {
			return fmt.Errorf("unit %s needs %s: %w", spec.Name, address, err)
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}
