package unit

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/cleave-lab/cleave/lab"
)

// Profiled runs work, under Go's CPU profiler if the unit's environment asks for a profile. It returns the
// path of the profile; "" if there is none.
func Profiled(work func() error) (path string, err error) {
	path = os.Getenv(lab.ProfileVariable)
	if path == "" {
		return "", work()
	}
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", lab.ProfileVariable, err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", lab.ProfileVariable, err), file.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return path, errors.Join(err, file.Close())
}
