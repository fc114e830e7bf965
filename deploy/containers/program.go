package containers

import (
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// CheckPrograms refuses units whose program no container of this host can run. folder holds
// our unit programs.
func CheckPrograms(folder string, units []lab.UnitSpec) error {
	var problems []error
	var own []string
	for _, spec := range units {
		switch {
		case spec.Floats != "":
			problems = append(problems, fmt.Errorf("unit %s shares the address %s with another, which no container "+
				"does here: deploy with process", spec.Name, spec.Floats))
		case spec.Compose != nil:
			problems = append(problems, fmt.Errorf("unit %s is a compose file: its deployment is compose", spec.Name))
		case spec.Image != "":
			problems = append(problems, fleet.ImageRefused(spec))
		case spec.Foreign && spec.Program != "":
			_, err := programOf(spec)
			problems = append(problems, err)
		default:
			own = append(own, UnitProgram(folder, spec))
		}
	}
	slices.Sort(own)
	for _, program := range slices.Compact(own) {
		if program != "" {
			problems = append(problems, checkStatic(program))
		}
	}
	return errors.Join(problems...)
}

// checkStatic refuses a unit program that is linked dynamically: its image has no loader, and
// the kernel would report the program itself as missing.
func checkStatic(program string) error {
	const build = "build all unit programs with: make build"
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("the unit program %s cannot run in a container: %w: %s", program, err, build)
	}
	defer func() { _ = file.Close() }() // only read
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("the unit program %s is linked dynamically, and its image has no libraries: build it "+
				"with CGO_ENABLED=0, or %s", program, build)
		}
	}
	return nil
}

// UnitProgram returns the path of the unit program that a unit runs; "" if it runs another program or an
// image. folder holds the unit programs; it is itself the program if units name none (lab.UnitSpec.Own).
func UnitProgram(folder string, spec lab.UnitSpec) string {
	if spec.Program != "" || spec.Image != "" {
		return ""
	}
	return filepath.Join(folder, spec.Own)
}

// programOf returns the path of a program of this host for a container. It must be below /usr,
// which containers have with the libraries that programs need, or in a folder of the unit. The
// path keeps the name that the program is called by if the container has that name, too: some
// programs behave differently by name, such as redis-server, which is a link to redis-check-rdb.
func programOf(spec lab.UnitSpec) (string, error) {
	var target, calledIn string // the file itself, and the folder in which it was found
	program := spec.Program
	isRelative := strings.Contains(program, "/") && !filepath.IsAbs(program)
	if isRelative && spec.Dir != "" {
		program = filepath.Join(spec.Dir, program)
	}
	called, err := exec.LookPath(program)
	if err == nil {
		target, err = filepath.EvalSymlinks(called)
	}
	if err == nil {
		calledIn, err = filepath.EvalSymlinks(filepath.Dir(called))
	}
	isInContainer := func(path string) bool {
		return slices.ContainsFunc(slices.Concat([]string{"/usr"}, spec.Mounts, spec.Reads),
			func(folder string) bool {
				return strings.HasPrefix(path, folder+"/")
			})
	}
	switch {
	case err != nil && spec.Install != "":
		return "", spec.ProgramMissing()
	case err != nil:
		return "", fmt.Errorf("there is no program %q here: install it, or give its path: %w", spec.Program, err)
	case !isInContainer(target):
		return "", fmt.Errorf("the program %s is not below /usr, which is what containers have of this host "+
			"beside its own folder: deploy it as a process, or as a compose file", target)
	}
	if named := filepath.Join(calledIn, filepath.Base(called)); isInContainer(named) {
		return named, nil
	}
	return target, nil
}
