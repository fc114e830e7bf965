package lab

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// MissingError is a part that a host lacks, with the command that installs it.
type MissingError struct {
	What    string // `there is no program "haproxy" here`
	Install string // the command for a shell that installs it
}

// Error implements error.
func (m *MissingError) Error() string { return m.What + ": type: " + m.Install }

// ProgramMissing returns the error for a unit whose program is not on this host.
func (u UnitSpec) ProgramMissing() error {
	return &MissingError{What: fmt.Sprintf("there is no program %q here", u.Program), Install: u.Install}
}

// aptInstall is the command that installs packages of Debian and Ubuntu, without their names.
const aptInstall = "sudo apt-get install --no-install-recommends "

// AptInstall returns the command that installs packages of Debian and Ubuntu.
func AptInstall(packages ...string) string { return aptInstall + strings.Join(packages, " ") }

// MissingPrograms returns a MissingError with all programs that are not in PATH, or nil. packages holds the
// package of each program; why is the subject of the message: "X needs ...".
func MissingPrograms(why string, packages map[string]string) error {
	var missing, needed []string
	for _, program := range slices.Sorted(maps.Keys(packages)) {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
			needed = append(needed, packages[program])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(needed)
	return &MissingError{What: why + " needs " + strings.Join(missing, ", ") + ", not found here",
		Install: AptInstall(slices.Compact(needed)...)}
}

// InstallAll joins installation commands into one line: one command for all packages, then every other
// command once, in its order. If one of them is make, a comment names its folder.
func InstallAll(commands []string) string {
	var packages, others []string
	for _, command := range commands {
		for part := range strings.SplitSeq(strings.TrimSuffix(command, whereToMake), " && ") {
			if names, is := strings.CutPrefix(part, aptInstall); is {
				packages = append(packages, strings.Fields(names)...)
			} else if part != "" && !slices.Contains(others, part) {
				others = append(others, part)
			}
		}
	}
	if len(packages) > 0 {
		slices.Sort(packages)
		others = slices.Insert(others, 0, AptInstall(slices.Compact(packages)...))
	}
	line := strings.Join(others, " && ")
	if slices.ContainsFunc(others, func(command string) bool { return strings.HasPrefix(command, "make ") }) {
		line += whereToMake
	}
	return line
}

// whereToMake is a comment for the shell behind commands that run make.
const whereToMake = " # make: in the folder of Cleave's sources"

// Lack is one part that a host lacks for a variant.
type Lack struct {
	Variant string
	Points  []string // the points at which the variant needs it; empty: all
	Err     error
}

// Leaves returns the errors that errors.Join has joined, at any depth, without repetitions of the same text.
func Leaves(err error) []error {
	all := []error{err}
	if several, is := err.(interface{ Unwrap() []error }); is {
		if joined := errors.Join(several.Unwrap()...); joined != nil && joined.Error() == err.Error() {
			all = nil // err has no text of its own
			for _, one := range several.Unwrap() {
				all = append(all, Leaves(one)...)
			}
		}
	}
	var once []error
	for _, one := range all {
		if one == nil {
			continue
		}
		saysTheSame := func(e error) bool { return e.Error() == one.Error() }
		if !slices.ContainsFunc(once, saysTheSame) {
			once = append(once, one)
		}
	}
	return once
}

// MissingPart is a part that a host lacks, and the variants that need it.
type MissingPart struct {
	What     string   `json:"what"`
	Install  string   `json:"install,omitempty"` // the command that installs it; empty: What says what to do
	Variants []string `json:"variants"`          // some with the points that need it: "two at p, q"
}

// MissingParts returns every missing part once, with the variants that need it.
func MissingParts(lacks []Lack) []MissingPart {
	var parts []MissingPart
	for _, lack := range lacks {
		part := MissingPart{What: strings.ReplaceAll(lack.Err.Error(), "\n", "; ")}
		if missing, is := errors.AsType[*MissingError](lack.Err); is {
			part.What = missing.What
			part.Install = missing.Install
		}
		i := slices.IndexFunc(parts, func(p MissingPart) bool {
			return p.What == part.What && p.Install == part.Install
		})
		if i < 0 {
			i = len(parts)
			parts = append(parts, part)
		}
		name := lack.Variant
		if len(lack.Points) > 0 {
			name += " at " + strings.Join(lack.Points, ", ")
		}
		if !slices.Contains(parts[i].Variants, name) {
			parts[i].Variants = append(parts[i].Variants, name)
		}
	}
	for _, part := range parts {
		slices.Sort(part.Variants) // trials come in random order
	}
	return parts
}

// variantOf returns the name of a variant, which has no spaces, without the points that need a part.
func variantOf(name string) string {
	name, _, _ = strings.Cut(name, " at ")
	return name
}

// Lacking names the variants that need the part; all is the number of variants of the study.
func (p MissingPart) Lacking(all int) string {
	atPoints := func(name string) bool { return variantOf(name) != name }
	if n := len(p.Variants); n > 1 && n == all && !slices.ContainsFunc(p.Variants, atPoints) {
		return "all variants"
	}
	return strings.Join(p.Variants, ", ")
}

// InstallParts returns one line that installs all parts, or "" if no command does.
func InstallParts(parts []MissingPart) string {
	var commands []string
	for _, part := range parts {
		commands = append(commands, part.Install)
	}
	slices.Sort(commands)
	return InstallAll(commands)
}

// LackLines returns a line for each missing part of a study with a number of variants: what cannot be tested
// here, why, which variants lack nothing else, and the command that installs the part. If there are several
// commands, the last line installs all parts.
func LackLines(lacks []Lack, variants int) []string {
	var lines []string
	installs := 0
	parts := MissingParts(lacks)
	needs := map[string]int{} // how many parts a variant lacks
	for _, part := range parts {
		var names []string // in order, as part.Variants are
		for _, name := range part.Variants {
			names = append(names, variantOf(name))
		}
		for _, name := range slices.Compact(names) {
			needs[name]++
		}
	}
	for _, part := range parts {
		line := UntestableHere(part.Lacking(variants), part.What)
		lackOnlyThis := slices.DeleteFunc(slices.Clone(part.Variants),
			func(name string) bool { return needs[variantOf(name)] > 1 })
		if len(lackOnlyThis) > 0 && len(lackOnlyThis) < len(part.Variants) {
			line += fmt.Sprintf(" (nothing else is missing for %s)", strings.Join(lackOnlyThis, ", "))
		}
		if part.Install != "" {
			line += ": type: " + part.Install
			installs++
		}
		lines = append(lines, line)
	}
	if installs > 1 {
		lines = append(lines, "to install all of it: "+InstallParts(parts))
	}
	return lines
}
