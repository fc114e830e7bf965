// Package external describes systems of users as systems under test. Such a system
// is a URL, a command, an image, a compose file, or manifests of Kubernetes. Each
// service of a compose file or of manifests is a unit. The package does not know what
// a system does: an operation is a step of a scenario, and an answer is right if the
// scenario expects it.
//
// A system is defined in a system file (cleave-system/1) or on the command line.
// The definition goes into the variant, and with it into the plan, so that a
// result folder is enough to play the experiment again.
//
// Entry points: Open, Parse and Inline for definitions, System for the conductor.
package external

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Name is the name of this system in plans.
const Name = "external"

// roleSystem is the name and the role of the unit of a system that is one unit.
const roleSystem = "system"

// Operations is the factor with the number of operations of a counted load, such as the load of a check.
const Operations = "operations"

// portMark stands for a port that is chosen for each trial.
const portMark = "{port}"

// System implements lab.System for all systems of users; the definition of one is in its variant. Describe
// uses neither Generator nor Secrets.
type System struct {
	Generator lab.Generator
	Load      lab.Load      // of the study
	Secrets   *secret.Vault // the values of the references in definitions
	Faults    bool          // trials have faults, so the generator writes a history
	Label     string        // of the conductor: by it the sweeper finds processes that audits leave behind
}

var (
	_ lab.System       = System{}
	_ lab.Measurer     = System{}
	_ lab.Lengthenable = System{}
	_ lab.Checkable    = System{}
)

// base returns the part that users' systems share with other systems under load.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Operations}
}

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: Name, Summary: "a system of your own: a URL, a command, an image, a compose file or manifests",
		Operation: "operation",
		Architectures: []lab.Architecture{
			{Name: kindURL, Summary: "runs already"},
			{Name: kindCommand, Summary: "a program, started for every trial"},
			{Name: kindImage, Summary: "a container of an image that you have, started for every trial"},
			{Name: kindCompose, Summary: "containers, started for every trial by the compose command"},
			{Name: kindServices,
				Summary: "services of a compose file or of manifests, started for every trial, each a unit"},
		},
		Parameters: s.base().Parameters("flows"),
		Metrics:    metrics(true, true, true), Foreign: true, Restartable: true,
	}
}

// Lengthened implements lab.Lengthenable.
func (s System) Lengthened(times float64) lab.System {
	s.Load = s.Load.Lengthened(times)
	return s
}

// CheckPoint implements lab.Checkable.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	return s.base().CheckPoint(operations, over)
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "operations", Count: "sent"}, {Title: "right", Count: "ok"},
		{Title: "not right", Count: "not right"}, {Title: "operations/s", Metric: lab.Goodput}})
}

// Layout implements lab.System.
func (s System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	if v.External == nil {
		return lab.Layout{}, fmt.Errorf("variant %s does not say what its system is", v.Name)
	}
	x := v.External
	job := lab.LoadJob{
		Load: s.Load, Target: x.URL, Seed: seed, Variant: v.Name, Ready: x.Ready.ReadyCheck, Look: unreachedHint(v),
	}
	if s.Faults || readsHistory(x.Audit) {
		job.History = loaded.History
	}
	loaded.SetClient(&job, p)
	ofClient := []string{lab.FactorConnections, lab.FactorThreads, lab.FactorTraceShare}
	isOfLoad := func(factor string) bool { return !slices.Contains(ofClient, factor) }
	if slices.ContainsFunc(p.Factors(), isOfLoad) { // else the scenario has a load of its own
		if err := s.base().SetLoad(&job, p); err != nil {
			return lab.Layout{}, err
		}
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: spareDescriptors, FileLines: x.FileLines}
	environment, err := s.environment(x)
	if err := errors.Join(err, s.checkSecrets(x.Audit)); err != nil {
		return lab.Layout{}, fmt.Errorf("system %s: %w", v.Name, err)
	}
	if len(x.Reset) > 0 {
		reset, err := s.foreign("reset", x, x.Reset, environment)
		if err != nil {
			return lab.Layout{}, err
		}
		reset.Listens = false
		layout.Prepare = []lab.UnitSpec{reset}
	}
	if layout.Units, job.Unit, err = s.units(x, environment); err != nil {
		return lab.Layout{}, fmt.Errorf("system %s: %w", v.Name, err)
	}
	if job.Unit != "" { // its address replaces host and port of the URL; 80 only makes the URL valid
		job.Target = strings.ReplaceAll(x.URL, portMark, "80")
	}
	generator, err := s.Generator.Unit(job)
	if err != nil {
		return lab.Layout{}, err
	}
	generator.Name = lab.RoleGenerator
	generator.Role = lab.RoleGenerator
	generator.Cores = s.Load.Cores
	generator.Uses = []lab.Use{}
	for _, unit := range layout.Units { // without an Entry, any service may answer at the URL
		if x.Entry == "" || unit.Name == x.Entry {
			generator.Uses = append(generator.Uses, lab.Use{To: unit.Name, How: "requests"})
		}
	}
	if job.Unit != "" {
		generator.Peers = []string{job.Unit}
	}
	layout.Units = append(layout.Units, generator)
	return layout, nil
}

// units returns the units of a system, and entry, the name of the unit that gets the load. If entry is "",
// the load goes to the URL as it is.
func (s System) units(
	x *lab.ExternalSystem, environment []string,
) (units []lab.UnitSpec, entry string, err error) {
	switch {
	case x.Compose != nil:
		units, err = s.services(x, environment)
	case len(x.Services) > 0:
		units, err = s.containers(x)
		entry = x.Entry
	case x.Image != "" || len(x.Command) > 0:
		var unit lab.UnitSpec
		if unit, err = s.started(x, environment); unit.Listens {
			entry = roleSystem
		}
		units = []lab.UnitSpec{unit}
	}
	return units, entry, err
}

// spareDescriptors is the number of files that the generator may open in addition to its connections.
const spareDescriptors = 256

// started returns the unit of a system that Cleave starts as a command or an image, with its readiness
// checks.
func (s System) started(x *lab.ExternalSystem, environment []string) (lab.UnitSpec, error) {
	unitOf := s.command
	if x.Image != "" {
		unitOf = s.image
	}
	unit, err := unitOf(x, environment)
	if err != nil {
		return unit, err
	}
	unit.Readiness.Log = x.Ready.Log
	unit.Readiness.Within = lab.Seconds(x.Ready.Timeout)
	unit.Readiness.Command, err = s.arguments(x.Ready.Command)
	return unit, err
}

// command returns the unit of a system that is started by a command. Without {port} in its URL the system has
// a fixed address: it cannot have replicas, and the deployer checks that a loopback address is free.
func (s System) command(x *lab.ExternalSystem, environment []string) (lab.UnitSpec, error) {
	unit, err := s.foreign(roleSystem, x, x.Command, environment)
	unit.Scalable = unit.Listens
	if err != nil || unit.Listens {
		return unit, err
	}
	u, err := url.Parse(x.URL)
	if err != nil {
		return unit, fmt.Errorf("url %q: %w", x.URL, err)
	}
	if address, ok := loopback(u); ok {
		unit.Binds = []string{address}
	}
	return unit, nil
}

// image returns the unit of a system that is a container of an image.
func (s System) image(x *lab.ExternalSystem, environment []string) (lab.UnitSpec, error) {
	if err := checkImage(x.Image); err != nil { // a plan was not checked like a file
		return lab.UnitSpec{}, err
	}
	args, err := s.arguments(x.Command)
	return lab.UnitSpec{
		Name: roleSystem, Role: roleSystem,
		Runnable:   lab.Runnable{Image: x.Image, Args: args, Foreign: true, Env: environment},
		Networking: lab.Networking{Port: x.Port, Listens: true},
		Storage:    lab.Storage{Volume: roleSystem},
		Placement:  lab.Placement{Scalable: true, Cores: x.Cores},
	}, err
}

// services returns the units of a system that the compose command runs, one per service.
func (s System) services(x *lab.ExternalSystem, environment []string) ([]lab.UnitSpec, error) {
	names, err := serviceNames(x.Compose)
	if err != nil {
		return nil, err
	}
	file, err := s.fillCompose(x.Compose)
	var units []lab.UnitSpec
	for _, name := range names {
		units = append(units, lab.UnitSpec{
			Name: name, Role: name,
			Runnable:  lab.Runnable{Foreign: true, Compose: file, Env: environment},
			Placement: lab.Placement{Cores: x.Cores},
		})
	}
	return units, err
}

// containers returns the units of a system of services, each of which is a container.
func (s System) containers(x *lab.ExternalSystem) (units []lab.UnitSpec, err error) {
	var missing []error
	for _, service := range x.Services {
		if err := checkImage(service.Image); err != nil { // a plan was not checked like a file
			return nil, err
		}
		container, err := s.filled(service.Container)
		missing = append(missing, err)
		uses := []lab.Use{}
		for _, name := range service.After { // the file reveals no other calls
			uses = append(uses, lab.Use{To: name})
		}
		units = append(units, lab.UnitSpec{
			Name: service.Name, Role: service.Name,
			Runnable: lab.Runnable{
				Foreign: true, Image: service.Image, Install: service.Install, Container: container,
			},
			Lifecycle: lab.Lifecycle{
				After: service.After, Finishes: service.Finishes, Restarts: service.Restarts,
				Readiness: lab.Readiness{Healthy: service.Healthy},
			},
			Networking: lab.Networking{
				Listens: service.Port != 0, Port: service.Port, Uses: uses,
			},
			Placement: lab.Placement{Scalable: true, Cores: x.Cores},
		})
	}
	return units, errors.Join(missing...)
}

// filled returns a copy of a container with the masked values filled in.
func (s System) filled(c lab.ContainerSpec) (*lab.ContainerSpec, error) {
	lists := []*[]string{&c.Env, &c.Command, &c.Entrypoint}
	c.Mounts = slices.Clone(c.Mounts)
	if c.Health != nil {
		check := *c.Health
		c.Health = &check
		lists = append(lists, &check.Test)
	}
	var missing []error
	for i := range c.Mounts {
		files := maps.Clone(c.Mounts[i].Files)
		for name, text := range files {
			filled, err := s.Secrets.FillMasked(text)
			files[name] = filled
			missing = append(missing, err)
		}
		c.Mounts[i].Files = files
	}
	for _, list := range lists {
		filled, err := s.arguments(*list)
		*list = filled
		missing = append(missing, err)
	}
	return &c, errors.Join(missing...)
}

// foreign returns a unit that runs argv: the command or the reset command of the definition. If the unit is a
// container, the folder of the definition is mounted in it.
func (s System) foreign(
	name string, x *lab.ExternalSystem, argv, environment []string,
) (lab.UnitSpec, error) {
	argv, err := s.arguments(argv)
	unit := lab.UnitSpec{
		Name: name, Role: roleSystem,
		Runnable: lab.Runnable{
			Program: argv[0], Args: argv[1:], Foreign: true, Dir: x.Dir, Env: environment,
			NameBy: x.NameBy,
		},
		Networking: lab.Networking{Listens: strings.Contains(x.URL, portMark)},
		Storage:    lab.Storage{Volume: roleSystem},
		Placement:  lab.Placement{Cores: x.Cores},
	}
	if x.Dir != "" {
		unit.Mounts = []string{x.Dir}
	}
	return unit, err
}

// loopback returns the host:port of a URL, and whether the host is a loopback address and the port is known.
func loopback(u *url.URL) (string, bool) {
	host := u.Hostname()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if isLoopback(host) {
		return net.JoinHostPort(host, port), port != ""
	}
	return "", false
}
