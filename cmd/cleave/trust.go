package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// planToPlay reads the plan of a result folder that is to be played. Somebody else may
// have written it. So it is checked by the rules for study files, and the user must agree
// to all that it would start. Only plans of built-in systems, which start only our own
// programs, and plans that this user's cleave made on this host need no agreement.
func (a app) planToPlay(folder *store.Folder, trust bool) (lab.Plan, error) {
	plan, own, err := folder.PlanWithSeal()
	if err != nil {
		return plan, badPlan(err)
	}
	known := systemInfos(plan.Study.Model)
	known[external.Name] = external.System{}.Describe()
	if err := study.CheckPlan(folder.Path("plan.json"), plan, known); err != nil {
		return plan, err
	}
	if own || trust || plan.Study.System != external.Name {
		return plan, nil
	}
	warning := fmt.Sprintf("%s was not made by you with this cleave on this host, or was changed; it "+
		"would\n%s\n", folder.Path("plan.json"), describeActions(plan.Study))
	if a.confirms(warning) {
		return plan, nil
	}
	return plan, withCode(exitBadPlan, "%sread this, and if you want it, say so with --trust", warning)
}

// confirms shows what a plan would do and asks the user at the terminal. Without a terminal it returns false.
func (a app) confirms(warning string) bool {
	file, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false
	}
	fmt.Fprint(a.errOut, warning, "play it? [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// describeActions lists all that the systems of a study run, start and load, each action once. It does not
// remove control characters: the writers of this program do.
func describeActions(s lab.Study) string {
	var lines []string
	line := func(format string, args ...any) {
		if text := "  " + fmt.Sprintf(format, args...); !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	for _, v := range s.Variants {
		x := v.External
		if x == nil {
			continue
		}
		if len(x.Reset) > 0 {
			line("run %s in %s", shell.Quote(x.Reset...), placeOf(v))
		}
		if x.Image != "" {
			line("start a container of the image %s", shell.Quote(append([]string{x.Image}, x.Command...)...))
		} else if len(x.Command) > 0 {
			line("run %s in %s", shell.Quote(x.Command...), placeOf(v))
		}
		if len(x.Ready.Command) > 0 {
			line("run %s in %s, until it ends with 0", shell.Quote(x.Ready.Command...), placeOf(v))
		}
		for _, service := range x.Services {
			describeService(line, service)
		}
		if x.Compose != nil {
			line("start containers in %s:\n      %s", shell.Quote(x.Compose.Dir), indented(x.Compose.Text))
		}
		for _, name := range slices.Sorted(maps.Keys(x.Env)) {
			line("with %s", shell.Quote(name+"="+x.Env[name]))
		}
		if x.EnvFile != "" {
			line("with variables from %s", shell.Quote(x.EnvFile))
		}
		if x.Audit != nil {
			describeAudit(line, *x.Audit)
		}
		line("load %s", shell.Quote(x.URL))
	}
	if s.Load == nil {
		return strings.Join(lines, "\n")
	}
	if s.Load.Consent != "" {
		line("load other hosts by this list:\n      %s", indented(s.Load.Consent))
	}
	for _, path := range localFiles(*s.Load) {
		line("send what is in the file %s", shell.Quote(path))
	}
	return strings.Join(lines, "\n")
}

// describeService adds the lines of a service: its container, what the container gets of this host and of the
// plan, where masked values of the user may be filled in, and its rights on this host.
func describeService(line func(format string, args ...any), service lab.SystemService) {
	c := service.Container
	line("start a container of the image %s as %s", shell.Quote(slices.Concat([]string{service.Image},
		c.Entrypoint, c.Command)...), shell.Quote(service.Name))
	for _, mount := range c.Mounts {
		if mount.Kind == lab.MountBind {
			line("give it %s of this host", shell.Quote(mount.Source))
		}
		for _, name := range slices.Sorted(maps.Keys(mount.Files)) {
			line("give it %s:\n      %s", shell.Quote(path.Join(mount.Target, name)), indented(mount.Files[name]))
		}
	}
	for _, variable := range c.Env {
		line("with %s", shell.Quote(variable))
	}
	if c.Health != nil && len(c.Health.Test) > 1 {
		line("have it run %s", shell.Quote(c.Health.Test[1:]...))
	}
	if c.Privileged || c.HostPID || len(c.CapAdd)+len(c.SecurityOpt) > 0 {
		line("give it power over this host (privileged: %t, its processes: %t, %s)", c.Privileged, c.HostPID,
			shell.Quote(slices.Concat(c.CapAdd, c.SecurityOpt)...))
	}
}

// describeAudit adds a line for each command and database query of an audit.
func describeAudit(line func(format string, args ...any), audit lab.SystemAudit) {
	if len(audit.Command) > 0 {
		line("run %s in %s", shell.Quote(audit.Command...), shell.Quote(audit.Dir))
	}
	for _, q := range audit.Queries {
		db := audit.Databases[q.In]
		password := cmp.Or(db.Password, db.PasswordFile, db.PasswordOf, "nobody")
		line("ask the database %s as the user %s, with the password of %s: %s", shell.Quote(db.At+"/"+db.Name),
			shell.Quote(db.User), shell.Quote(password), shell.Quote(q.SQL))
	}
}

// placeOf describes where the commands of a variant run: their folder on this host, if any, and their
// deployment, unless it is processes of this host.
func placeOf(v lab.Variant) string {
	place := shell.Quote(v.External.Dir)
	if v.External.Dir == "" {
		place = "a folder of its own"
	}
	if v.Deployment != lab.Process {
		place += " (" + plain.Text(v.Deployment) + ")"
	}
	return place
}

// localFiles returns the files of this host that a load reads, without those that are part
// of its plan.
func localFiles(load lab.Load) []string {
	var file scenario.File
	if err := json.Unmarshal(load.Scenario, &file); err != nil {
		return nil // such a plan is refused later
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(file.Data)) {
		paths = append(paths, file.Data[name].CSV, file.Data[name].JSONL)
	}
	if file.Load != nil {
		paths = append(paths, file.Load.Replay)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		_, packed := load.Files[path]
		return path == "" || packed
	})
}

// indented returns a text whose second and later lines are indented.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}
