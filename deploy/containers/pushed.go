package containers

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// hostProgram begins what stands for programs of this host, and programSeparator is between
// them.
const (
	hostProgram      = "host:"
	programSeparator = "|"
)

// pushedProgram returns what an image for nodes that do not have this host's folders has of a unit
// that names its program: that one alone where it is the conductor's, else with all that it
// needs.
func pushedProgram(spec lab.UnitSpec) string {
	if !spec.Foreign {
		return spec.Program
	}
	all := []string{spec.Program}
	if spec.Server != nil {
		for _, setup := range spec.Server.Setup {
			if setup.Program != "" && !slices.Contains(all, setup.Program) {
				all = append(all, setup.Program)
			}
		}
	}
	for i, program := range all {
		if path, err := exec.LookPath(program); err == nil { // else it is told where it is not found
			all[i] = path
		}
	}
	return hostProgram + strings.Join(all, programSeparator)
}

// Pushed makes the image of a program for a registry: one of ours, what pushedProgram says, or "" for none.
// Beside it there may be further ones of ours, of which the first gives an image of none its name.
func Pushed(program string, beside ...string) (name string, config, layer []byte, err error) {
	if list, ofHost := strings.CutPrefix(program, hostProgram); ofHost {
		all := strings.Split(list, programSeparator)
		config, layer, err = imageOf(all, beside...)
		return strings.ToLower(filepath.Base(all[0])), config, layer, err
	}
	config, layer, err = Image(program, nil, beside...)
	if program == "" {
		program = beside[0]
	}
	return strings.ToLower(filepath.Base(program)), config, layer, err
}
