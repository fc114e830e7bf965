package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/cleave-lab/cleave/backing/named"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/deploy/compose"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/external"
	"github.com/cleave-lab/cleave/systems/shop"
	shopsystem "github.com/cleave-lab/cleave/systems/shop/system"
)

// app is what the commands share: where results and the story go.
type app struct {
	out   io.Writer
	story io.Writer
}

// spansVariable names a folder that keeps the spans of all trials (docs/tracing.md).
const spansVariable = "CLEAVE_SPANS"

// systems are the systems under test that this program brings.
func systems() map[string]lab.System {
	return map[string]lab.System{big.Name: big.System{}, shop.Name: shopsystem.System{}}
}

// backings are the backing services that this program can provide. A server that
// the user names takes the place of a private one.
func backings(unit, label, scratch string) (map[string]lab.Backing, error) {
	all := map[string]lab.Backing{sqlite.Kind: sqlite.New()}
	for _, b := range server.Backings(unit, label, scratch) {
		all[b.Kind()] = b
	}
	users, err := users()
	for kind, b := range users {
		all[kind] = b
	}
	return all, err
}

// users are the servers that the user names, by the kinds whose place they take.
func users() (map[string]named.Backing, error) {
	all, err := named.FromEnvironment(os.LookupEnv)
	if err != nil {
		return all, withCode(exitBadPlan, "%w", err)
	}
	return all, nil
}

// systemOf is the system of a plan: one that this program brings, or those that
// somebody else wrote, under the load of the plan.
func systemOf(plan lab.Plan) (lab.System, error) {
	if plan.Study.System == big.Name {
		return big.System{}, nil
	}
	if plan.Study.Load == nil {
		return nil, withCode(exitBadPlan, "the plan of %s has no load: give the study the key \"load\"", plan.Study.Name)
	}
	generator, err := newGenerator(plan.Study.Load.Objective)
	if err != nil {
		return nil, withCode(exitBadPlan, "the load of %s: %w", plan.Study.Name, err)
	}
	if plan.Study.System == shop.Name {
		return shopsystem.System{Generator: generator, Load: *plan.Study.Load, Spans: os.Getenv(spansVariable)}, nil
	}
	return external.System{Generator: generator, Load: *plan.Study.Load}, nil
}

func systemInfos() map[string]lab.SystemInfo {
	infos := map[string]lab.SystemInfo{}
	for name, system := range systems() {
		infos[name] = system.Describe()
	}
	return infos
}

// programs are the paths of this program and of cleave-unit beside it.
func programs() (own, unit string, err error) {
	if own, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("find the program cleave itself: %w", err)
	}
	unit = filepath.Join(filepath.Dir(own), "cleave-unit")
	if _, err := os.Stat(unit); err != nil {
		return "", "", withCode(exitMissingPart, "cleave-unit is not beside cleave (%s): build both with: make build", unit)
	}
	return own, unit, nil
}

// deployers are the deployments that this program brings. label marks all that
// they start.
func deployers(own, unit, label string) map[string]lab.Deployer {
	processes := process.New(unit, []string{own, janitorName}, []string{own, keeperName}, label)
	return map[string]lab.Deployer{"process": processes, "compose": compose.New(processes, label)}
}

// isTerminal reports whether w is a terminal that people look at.
func isTerminal(w io.Writer) bool {
	file, ok := plain.Raw(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// useColour follows NO_COLOR (no-color.org).
func useColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == ""
}
