package external

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// The kinds of systems are the architectures of this one. kindCompose is also the deployment by the compose
// command.
const (
	kindURL      = "url"
	kindCommand  = "command"
	kindImage    = "image"
	kindCompose  = "compose"
	kindServices = "services"
)

// Kind returns the architecture that the system is one of.
func (d Definition) Kind() string {
	switch {
	case d.RunsAlready():
		return kindURL
	case d.Compose != nil:
		return kindCompose
	case len(d.Services) > 0:
		return kindServices
	case d.Image != "":
		return kindImage
	}
	return kindCommand
}

// In returns the system in each of several deployments, with the deployment in its name where it is
// more than one; where none is given, in the one that its file names, or in that of its kind.
// All that cannot be is named at once.
func (d Definition) In(ways []string) (all []Definition, err error) {
	if len(ways) == 0 {
		ways = []string{d.Deployment}
	}
	for _, way := range ways {
		one := d
		one.Deployment = way
		if refusal := one.deploy(); refusal != nil {
			whose := "system " + d.Name
			if way != "" {
				whose += " with --deploy " + way
			}
			err = errors.Join(err, fmt.Errorf("%s: %w", whose, refusal))
			continue
		}
		if len(ways) > 1 {
			one.Name += "-" + way
		}
		if !yamlfile.IsName(one.Name) {
			err = errors.Join(err, fmt.Errorf("the name %q is too long: give the system a shorter one", one.Name))
		}
		all = append(all, one)
	}
	return all, err
}

// deploy makes the definition that of its deployment, or says why it cannot be.
func (d *Definition) deploy() error {
	if err := d.place(); err != nil {
		return err
	}
	return d.locateDatabases()
}

// place does so but for the databases of its audit.
func (d *Definition) place() error {
	if err := d.resolve(); err != nil {
		return err
	}
	kind := d.Kind()
	switch {
	case d.Deployment == "" || kind == kindCompose && d.Deployment == kindCompose:
		usual := map[string]string{kindImage: lab.DockerBridge, kindServices: lab.DockerBridge,
			kindCompose: kindCompose}
		d.Deployment = cmp.Or(usual[kind], lab.Process)
		return nil
	case kind == kindServices && slices.Contains(placesOfServices(), d.Deployment):
		d.noteVolumes()
		return nil
	case !slices.Contains(lab.Deployments(), d.Deployment):
		return fmt.Errorf("there is no such deployment: use %s", strings.Join(lab.Deployments(), ", "))
	case kind == kindURL:
		return errors.New("a URL runs where its owner has it, and only what Cleave starts can be deployed: " +
			"compare it without")
	case kind == kindServices:
		places := strings.Join(placesOfServices(), ", ") + ", where services find each other by their names"
		if d.manifests != "" {
			return errors.New("manifests run on " + places)
		}
		return fmt.Errorf("a compose file runs on %s, or through the compose command (--compose-command)", places)
	case kind == kindImage && (d.Deployment == lab.Process || d.Deployment == lab.SSH):
		return fmt.Errorf("an image runs in containers: use %s, %s, %s or %s", lab.DockerBridge, lab.DockerHost,
			lab.Swarm, lab.Kubernetes)
	case kind == kindImage || d.Deployment == lab.Process:
		return nil
	}
	if d.Deployment != lab.DockerHost && !strings.Contains(d.URL, portMark) {
		return fmt.Errorf("it would not be found at %s, an address of this host's network: have the command "+
			"listen on {host} and %s", d.URL, portMark)
	}
	if d.Deployment == lab.DockerHost || d.Deployment == lab.DockerBridge {
		return d.contain()
	}
	return d.leaveHost()
}

// placesOfServices returns the deployments on which services of a file find each other by their names.
func placesOfServices() []string { return []string{lab.DockerBridge, lab.Swarm, lab.Kubernetes} }

// noteVolumes notes how volumes differ on Kubernetes.
func (d *Definition) noteVolumes() {
	if d.Deployment == lab.Kubernetes && slices.ContainsFunc(d.Services, func(s lab.SystemService) bool {
		return slices.ContainsFunc(s.Container.Mounts, func(m lab.ContainerMount) bool {
			return m.Kind == lab.MountVolume
		})
	}) {
		d.Notes = append(slices.Clone(d.Notes), "volumes are empty at first on Kubernetes, also where the image "+
			"has files")
	}
}

// contain has a command run in a container, which gets its folder at the same path.
func (d *Definition) contain() (err error) {
	if d.Dir, err = filepath.EvalSymlinks(d.Dir); err != nil {
		return fmt.Errorf("its folder: %w", err)
	}
	if slices.Contains([]string{"/", "/tmp"}, d.Dir) {
		return fmt.Errorf("it runs in %s, and a container has one of its own: run it in another folder (dir)",
			d.Dir)
	}
	return nil
}

// leaveHost has a command run where no folder of this host is, in an empty one. What it names of
// its folder here would be missing there.
func (d *Definition) leaveHost() error {
	switch {
	case d.dirNamed:
		return fmt.Errorf("its folder %s (dir) is one of this host, which others do not have", d.Dir)
	case len(d.Reset) > 0:
		return errors.New("its reset is a program of this host, which does not reach others")
	}
	for i, word := range d.Command {
		inPath := i == 0 && !strings.Contains(word, "/")
		if word == "" || inPath || filepath.IsAbs(word) {
			continue
		}
		if _, err := os.Stat(filepath.Join(d.Dir, word)); err == nil {
			return fmt.Errorf("its command names %q, which is in the folder %s "+
				"of this host, and others do not have it", word, d.Dir)
		}
	}
	d.Dir = ""
	return nil
}

// Afar reports whether the system runs on hosts other than this one, or as if it did.
func (d Definition) Afar() bool {
	return slices.Contains([]string{lab.Swarm, lab.Kubernetes, lab.SSH}, d.Deployment)
}

// lookAt returns what to look at where nobody finds the system of a variant: one that listens on loopback
// alone, as many do unless they are told otherwise, is found on this host and nowhere else.
func lookAt(v lab.Variant) string {
	here := v.Deployment == lab.Process || v.Deployment == lab.DockerHost
	if here || len(v.External.Command) == 0 || strings.Contains(strings.Join(v.External.Command, " "),
		"{host}") {
		return ""
	}
	return "look whether it listens on {host}, which its command does not name"
}
