package containers

import (
	"fmt"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Bound has the command of a container begin on the processors of its unit, where the platform has no
// words for them: runtimes ask how many there are when they begin, and must find these alone.
func Bound(spec lab.UnitSpec, command []string) ([]string, error) {
	processors, err := launch.Processors(spec.Cores)
	if err != nil || len(processors) == 0 {
		return command, err
	}
	binder, err := ProgramOf(lab.UnitSpec{Program: "taskset", Install: lab.AptInstall("util-linux")})
	if err != nil {
		return nil, fmt.Errorf("bind unit %s to the processors %v: %w", spec.Name, spec.Cores, err)
	}
	return append([]string{binder, "--cpu-list", launch.List(processors)}, command...), nil
}
