package containers

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// hostProgram is the prefix of the text by which Images.Load knows an image of programs of this host, and
// programSeparator separates the paths of the programs in it.
const (
	hostProgram      = "host:"
	programSeparator = "|"
)

// registryContent returns the content (see Images.Load) of the image of a unit that names its program, for
// nodes that do not have this host's folders: the path of a program of ours, or the list of programs of
// this host that a foreign unit and its setup run.
func registryContent(spec lab.UnitSpec) string {
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
		if path, err := exec.LookPath(program); err == nil { // if not, making the image reports it
			all[i] = path
		}
	}
	return hostProgram + strings.Join(all, programSeparator)
}

// RegistryImage makes an image for a registry and returns its name, configuration and layer. program is a
// program of ours, what registryContent returns, or "" for none. beside are further programs of ours;
// without a program the first of them names the image.
func RegistryImage(program string, beside ...string) (name string, config, layer []byte, err error) {
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
