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

// The kinds of external systems, which are the architectures of System. kindCompose is also the name of the
// deployment by the compose command.
const (
	kindURL      = "url"
	kindCommand  = "command"
	kindImage    = "image"
	kindCompose  = "compose"
	kindServices = "services"
)

// Kind returns the kind of the system.
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

// In returns the system in each of several deployments. If there are two or more, the names of the systems
// end with them. If there are none, the system gets the deployment of its file or the default one of its
// kind. The error lists all deployments that are impossible.
func (d Definition) In(deployments []string) (all []Definition, err error) {
	if len(deployments) == 0 {
		deployments = []string{d.Deployment}
	}
	for _, deployment := range deployments {
		one := d
		one.Deployment = deployment
		refusal := one.place()
		if refusal == nil {
			refusal = one.locateDatabases()
		}
		if refusal != nil {
			whose := "system " + d.Name
			if deployment != "" {
				whose += " with --deploy " + deployment
			}
			err = errors.Join(err, fmt.Errorf("%s: %w", whose, refusal))
			continue
		}
		if len(deployments) > 1 {
			one.Name += "-" + deployment
		}
		if !yamlfile.IsName(one.Name) {
			err = errors.Join(err, fmt.Errorf("the name %q is too long: give the system a shorter one", one.Name))
		}
		all = append(all, one)
	}
	return all, err
}

// place prepares the definition for its deployment, except for the databases of the audit. It returns an
// error if that is impossible.
func (d *Definition) place() error {
	if err := d.resolve(); err != nil {
		return err
	}
	kind := d.Kind()
	isByCommand := kind == kindCompose && d.Deployment == kindCompose
	switch {
	case d.Deployment == "" || isByCommand:
		defaults := map[string]string{kindImage: lab.DockerBridge, kindServices: lab.DockerBridge,
			kindCompose: kindCompose}
		d.Deployment = cmp.Or(defaults[kind], lab.Process)
		return nil
	case kind == kindServices && slices.Contains(serviceDeployments(), d.Deployment):
		d.noteVolumes()
		return nil
	case !slices.Contains(lab.Deployments(), d.Deployment):
		return fmt.Errorf("there is no such deployment: use %s", strings.Join(lab.Deployments(), ", "))
	case kind == kindURL:
		return errors.New("a URL runs where its owner has it, and only what Cleave starts can be deployed: " +
			"leave out the deployment")
	case kind == kindServices:
		places := strings.Join(serviceDeployments(), ", ") + ", where services find each other by their names"
		if d.manifests != "" {
			return errors.New("manifests run on " + places)
		}
		return fmt.Errorf("a compose file runs on %s, or through the compose command (--compose-command)", places)
	case kind == kindImage && slices.Contains([]string{lab.Process, lab.SSH}, d.Deployment):
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
		return d.prepareContainer()
	}
	return d.prepareRemote()
}

// serviceDeployments returns the deployments in which the services of a file find each other by name.
func serviceDeployments() []string { return []string{lab.DockerBridge, lab.Swarm, lab.Kubernetes} }

// noteVolumes adds a note about volumes if the system has any on Kubernetes.
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

// prepareContainer prepares a command to run in a container, where its folder has the same path.
func (d *Definition) prepareContainer() (err error) {
	if d.Dir, err = filepath.EvalSymlinks(d.Dir); err != nil {
		return fmt.Errorf("its folder: %w", err)
	}
	if slices.Contains([]string{"/", "/tmp"}, d.Dir) {
		return fmt.Errorf("it runs in %s, and a container has one of its own: run it in another folder (dir)",
			d.Dir)
	}
	return nil
}

// prepareRemote prepares a command to run in an empty folder, possibly on another host. It returns an error
// if the command needs something of this host.
func (d *Definition) prepareRemote() error {
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

// IsRemote reports whether the deployment of the system is one for several hosts.
func (d Definition) IsRemote() bool {
	return slices.Contains([]string{lab.Swarm, lab.Kubernetes, lab.SSH}, d.Deployment)
}

// unreachedHint returns a hint for users whose system cannot be reached, or "". A compose file that only the
// compose command can read is not checked for the port. By default many programs listen on the loopback
// address alone, which other hosts and containers cannot reach.
func unreachedHint(v lab.Variant) string {
	if v.External.Compose != nil {
		return `look whether a service publishes the port of the url: ports: ["127.0.0.1:PORT:..."]`
	}
	isHere := v.Deployment == lab.Process || v.Deployment == lab.DockerHost
	namesHost := strings.Contains(strings.Join(v.External.Command, " "), "{host}")
	if isHere || namesHost || len(v.External.Command) == 0 {
		return ""
	}
	return "look whether it listens on {host}, which its command does not name"
}
