package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
)

// app is what the commands share: where results and the story go.
type app struct {
	out   io.Writer
	story io.Writer
}

// systems are the systems under test that this program brings.
func systems() map[string]lab.System {
	return map[string]lab.System{big.Name: big.System{}}
}

func systemInfos() map[string]lab.SystemInfo {
	infos := map[string]lab.SystemInfo{}
	for name, system := range systems() {
		infos[name] = system.Describe()
	}
	return infos
}

// deployers are the deployments that this program brings. label marks all that
// they start.
func deployers(label string) (map[string]lab.Deployer, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program cleave itself: %w", err)
	}
	unit := filepath.Join(filepath.Dir(own), "cleave-unit")
	if _, err := os.Stat(unit); err != nil {
		return nil, withCode(exitMissingPart, "cleave-unit is not beside cleave (%s): build both with: make build", unit)
	}
	return map[string]lab.Deployer{
		"process": process.New(unit, []string{own, janitorName}, label),
	}, nil
}

// isTerminal reports whether w is a terminal that people look at.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// useColour follows NO_COLOR (no-color.org).
func useColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == ""
}
