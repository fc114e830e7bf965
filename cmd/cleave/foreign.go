package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// foreignFlags are the flags of commands that play systems of the user.
type foreignFlags struct {
	designFlags
	request  loadFlags // the requests, if there is no scenario
	scenario string
	path     string
	arrivals string
	cores    string
	url      string // the URL that gets the load, for compose files and manifests
	command  bool   // run compose files with the compose command
	build    bool
	audit    string           // the command that audits every system
	builds   []external.Build // of images of compose files
	notes    []string         // printed before the trials
	secrets  *secret.Vault    // for scenarios of the user; nil for systems of Cleave, which need no secrets
}

// foreignGroup is the title of the flags that are only for systems of the user, in the help of commands that
// also play the systems of Cleave.
const foreignGroup = "A system of yours (a file, a command or a URL)"

// addForeign adds the flags for systems of the user.
func (f *foreignFlags) addForeign(command *cobra.Command) {
	f.request.isSet = command.Flags().Changed
	f.cores = "none"
	addGroup(command, foreignGroup, f.addSent, f.request.addRequest, f.request.addAnswers, f.request.addClient,
		f.request.addAllowed, f.addTrusted, f.addCompose)
}

// addSent adds the flags that select the requests.
func (f *foreignFlags) addSent(flags *pflag.FlagSet) {
	flags.StringVar(&f.scenario, "scenario", "", "scenario `file` with the requests and the right answers")
	flags.StringVar(&f.path, "path", "/", "`path` that is requested of every system, without a scenario")
}

// addTrusted adds the flag that allows risky compose files and plans.
func (f *foreignFlags) addTrusted(flags *pflag.FlagSet) {
	flags.BoolVar(&f.trust, "trust", false, "do not ask before starting compose files that want power over "+
		"this host, or the plan of somebody else's result folder")
}

// addCompose adds the flags of compose files.
func (f *foreignFlags) addCompose(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "`URL` that gets the load, for a compose file or manifests: a published "+
		"port (http://127.0.0.1:8080/), or a service with its port (http://web:80/)")
	flags.BoolVar(&f.command, "compose-command", false,
		"run compose files through the command docker compose, not each service as a unit")
	flags.BoolVar(&f.build, "build", false, "build the images of services that have build, before all trials")
}

// isForeign reports whether arguments name systems of the user: a file or folder, a URL or a command.
func isForeign(args []string) bool {
	known := systemInfos("")
	return slices.ContainsFunc(args, func(argument string) bool {
		_, ours := known[argument]
		_, isModel := modelText(argument)
		if ours || isModel {
			return false
		}
		if strings.ContainsAny(argument, "./= ") {
			return true
		}
		info, err := os.Stat(argument)
		return err == nil && (info.Mode().IsRegular() || info.IsDir())
	})
}

// ofUser reports whether the arguments name systems of the user. It returns an error for flags that do not
// apply to the named kind of system. ours lists the flags that apply to systems of Cleave only.
func ofUser(command *cobra.Command, args []string, ours ...string) (bool, error) {
	if len(args) == 0 {
		return false, nil // the folder of --resume names the systems
	}
	foreign := isForeign(args)
	wrong := changedFlags(command, func(f *pflag.Flag) bool {
		if foreign {
			return slices.Contains(ours, f.Name)
		}
		return slices.Contains(f.Annotations[groupAnnotation], foreignGroup)
	})
	kind := "a system that Cleave brings (cleave list), and this is one of yours"
	if !foreign {
		kind = "a system of yours (a file, a command or a URL), and this is one that Cleave brings"
	}
	if len(wrong) == 0 {
		return foreign, nil
	}
	return foreign, withCode(exitBadPlan, "%s is for %s: leave it out", strings.Join(wrong, ", "), kind)
}

// onlyDeployment returns the deployment of --deploy as a list of one. Without the flag the list is empty, and
// each system keeps its own deployment.
func (f *foreignFlags) onlyDeployment() []string { return strings.Fields(f.deploy) }

// foreignPlanner returns the plan of a command for systems of the user, which args names.
type foreignPlanner func(ctx context.Context, args []string) (lab.Plan, error)

// planners are the two planners of a command: for a system of Cleave and for systems of the user.
type planners struct {
	ours    func(name string) (lab.Plan, error)
	foreign foreignPlanner
}

// playEither plays a command on a system of Cleave, or on systems of the user. ours lists the flags that are
// only for systems of Cleave.
func (a app) playEither(
	command *cobra.Command, args []string, flags *foreignFlags, ours []string, plan planners, report reporter,
) error {
	foreign, err := ofUser(command, args, ours...)
	switch {
	case err != nil:
		return err
	case foreign:
		return a.playForeign(command, args, flags, plan.foreign, report)
	}
	return a.planAndPlay(command, args, &flags.experimentFlags, plan.ours, report)
}

// playForeign plans and plays a command on systems of the user. With --resume it continues an experiment.
func (a app) playForeign(
	command *cobra.Command, args []string, flags *foreignFlags, planner foreignPlanner, report reporter,
) error {
	if flags.resume != "" {
		if len(args) > 0 {
			return withCode(exitBadPlan, "--resume takes the systems from the folder: leave out %s",
				shell.Quote(args...))
		}
		return a.playRest(command, &flags.experimentFlags, report)
	}
	plan, err := a.planForeign(command, args, flags, planner)
	if err != nil {
		return err
	}
	return a.experiment(command, plan, &flags.experimentFlags, report)
}

// planForeign returns the plan of a command for systems of the user. It prints warnings and notes, and builds
// images if the flags ask for it.
func (a app) planForeign(
	command *cobra.Command, args []string, flags *foreignFlags, planner foreignPlanner,
) (lab.Plan, error) {
	flags.secrets = a.secrets
	plan, err := planner(command.Context(), args)
	for _, warning := range a.secrets.Warnings() {
		a.warn("%s", warning)
	}
	for _, note := range flags.notes {
		a.note("%s", note)
	}
	if err != nil {
		return plan, loadRefusal(err)
	}
	if !flags.build {
		return plan, nil
	}
	// A build takes long, so mistakes in other flags are reported before.
	err = errors.Join(flags.documents.check(), checkClusters(command.Flags(), plan.Study.Variants))
	if err == nil {
		err = a.buildImages(command.Context(), flags.builds, flags.planOnly)
	}
	return plan, err
}

// systems returns the systems that the arguments name: each system once per deployment, or in its own
// deployment if deployments is empty. It adds their builds and notes to f. Its error lists all mistakes.
func (f *foreignFlags) systems(args, deployments []string) (definitions []external.Definition, err error) {
	var wrong mistakes
	for _, argument := range args {
		d, err := f.system(argument)
		selected := deployments
		if f.command && d.IsCompose() {
			selected = []string{"compose"}
		} else if f.command && d.HasUnits() {
			wrong.addf("--compose-command: %s is no compose file: leave one of them out", argument)
		}
		var deployed []external.Definition
		if err == nil {
			deployed, err = d.In(selected)
		}
		wrong.add(err)
		for _, one := range deployed {
			wrong.add(one.AuditWith(f.audit), one.Mask(f.secrets), f.checkTrust(one))
			for _, build := range one.Builds {
				same := func(b external.Build) bool { return slices.Equal(b.Command, build.Command) }
				if !slices.ContainsFunc(f.builds, same) {
					f.builds = append(f.builds, build)
				}
			}
			for _, note := range one.Notes {
				f.notes = append(f.notes, fmt.Sprintf("system %s: %s", one.Name, note))
			}
			if slices.Contains(systemNames(definitions), one.Name) {
				wrong.addf("two systems are called %s: name them, for example with a= and b= in front", one.Name)
			}
			definitions = append(definitions, one)
		}
	}
	return definitions, wrong.err()
}

// systemNames returns the names of systems of the user.
func systemNames(definitions []external.Definition) []string {
	return study.NamesOf(definitions, func(d external.Definition) string { return d.Name })
}

// checkTrust returns an error if a compose file asks for power over this host and --trust is not set.
func (f *foreignFlags) checkTrust(d external.Definition) error {
	if f.trust || len(d.Risks) == 0 {
		return nil
	}
	return fmt.Errorf("system %s asks for power over this host:\n  %s\nread this, and if you want it, say so "+
		"with --trust", d.Name, strings.Join(d.Risks, "\n  "))
}

// system returns the system of an argument, which may be a file with changes: "compose.yaml cart.cpu=0.5".
func (f *foreignFlags) system(argument string) (external.Definition, error) {
	parts, err := shell.Split(argument)
	if err != nil || len(parts) < 2 {
		return f.oneSystem(argument)
	}
	name, path := cutName(parts[0])
	file, err := external.Open(path)
	if err != nil || !file.IsSystem() {
		return f.oneSystem(argument)
	}
	d, err := file.Definition("", f.url)
	if err == nil {
		err = d.Change(name, parts[1:])
	}
	return d, err
}

// cutName cuts "name=" off the path of a file. A path that exists has no name: its "=" is part of it.
func cutName(argument string) (name, path string) {
	name, path, named := strings.Cut(argument, "=")
	if !named || exists(argument) {
		return "", argument
	}
	return name, path
}

// exists reports whether a file or a folder has this path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// oneSystem returns the system of an argument without changes.
func (f *foreignFlags) oneSystem(argument string) (external.Definition, error) {
	file, err := external.Open(argument)
	if name, path := cutName(argument); path != argument {
		if file, err := external.Open(path); err == nil && file.HasServices() {
			return file.Definition(name, f.url)
		}
	}
	switch {
	case err == nil:
		return file.Definition("", f.url)
	case exists(argument) || isYAML(argument):
		return external.Definition{}, fmt.Errorf("read the system file: %w", err)
	}
	return external.Inline(argument)
}

// foreignVariant returns a system of the user as a variant. The system runs on the cores in pinned if it has
// no cores of its own.
func foreignVariant(d external.Definition, pinned []int) lab.Variant {
	v := lab.Variant{
		Name: d.Name, System: external.Name, Architecture: d.Kind(), Deployment: d.Deployment, Summary: d.Summary,
		External: &d.ExternalSystem, Replicas: d.Replicas, Limits: d.Limits,
	}
	if len(v.External.Cores) == 0 {
		v.External.Cores = pinned
	}
	if v.Summary == "" && d.Entry != "" {
		v.Summary = fmt.Sprintf("%s of a file, entered at %s", lab.Count(len(d.Services), "service"), d.Entry)
	}
	if v.Summary == "" {
		v.Summary = strings.Join(slices.Concat(strings.Fields(d.Image), d.Command, []string{d.URL}), " ")
	}
	return v
}

// buildImages runs the commands that build the images of compose files. With dryRun it only prints them.
func (a app) buildImages(ctx context.Context, builds []external.Build, dryRun bool) error {
	for _, b := range builds {
		if dryRun {
			a.note("before all trials this builds an image: %s", shell.Quote(b.Command...))
			continue
		}
		command := exec.CommandContext(ctx, b.Command[0], b.Command[1:]...)
		command.Env = b.Env
		command.Stdout = a.errOut
		command.Stderr = a.errOut
		if err := command.Run(); err != nil {
			// After an interrupt, the error of the command only names the signal that ended it.
			return errors.Join(fmt.Errorf("build an image of a compose file: %s: %w", shell.Quote(b.Command...), err),
				ctx.Err())
		}
	}
	return nil
}
