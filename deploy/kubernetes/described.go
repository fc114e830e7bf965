package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// longestName limits the names of described units. Kubernetes allows 63 characters in names of services, such
// as "names-of-UNIT", and in host names, which are by default those of pods: "TRIAL-ATTEMPT-UNIT-LIFE".
const longestName = 40

// Patterns of values that Kubernetes accepts.
var (
	serviceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	dnsName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	userNumbers = regexp.MustCompile(`^[0-9]+(:[0-9]+)?$`)
)

// lacks returns the options that a pod cannot have, and whether a described container asks for each of them.
func lacks(spec lab.UnitSpec) []containers.Lack {
	c := spec.Container
	all := []containers.Lack{
		{Asked: !serviceName.MatchString(spec.Name) || len(spec.Name) > longestName,
			What: fmt.Sprintf("that name (give it one of at most %d lower-case letters, digits and dashes, "+
				"that begins with a letter)", longestName)},
		{Asked: c.User != "" && !userNumbers.MatchString(c.User),
			What: "the user " + c.User + " (give its number)"},
		{Asked: c.Hostname != "" && !dnsName.MatchString(c.Hostname), What: "the host name " + c.Hostname},
		{Asked: c.Init, What: "init"},
		{Asked: c.StopSignal != "", What: "stop_signal"},
		{Asked: len(c.Sysctls) > 0, What: "sysctls"},
		{Asked: len(c.Ulimits) > 0, What: "ulimits"},
	}
	for _, name := range c.Names {
		all = append(all, containers.Lack{Asked: !dnsName.MatchString(name), What: "the name " + name})
	}
	return all
}

// nameDescribed makes a service for the names of every described container, which replicas share, and adds
// the names to the aliases of all pods. The service has the ports that are known: on a cluster of the user's,
// whose nodes pull the images, the ports that an image exposes are not.
func (d *deployment) nameDescribed(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if spec.Container == nil {
			continue
		}
		var err error
		if _, seen := d.configs[spec.Image]; !seen && d.cluster.private != nil {
			if d.configs[spec.Image], err = images.Config(ctx, spec.Image); err != nil {
				return err
			}
		}
		ports := portsOf(spec, d.configs[spec.Image])
		if spec.Group != "" || len(ports) == 0 {
			continue
		}
		address, err := d.makeService(ctx, "names-of-"+spec.Name, labelNames, spec.Name, ports)
		if err != nil {
			return fmt.Errorf("give unit %s its names: %w", spec.Name, err)
		}
		d.aliases = append(d.aliases, api.HostAlias{IP: address, Hostnames: containers.Aliases(spec)})
	}
	return nil
}

// portsOf returns the ports at which others may call a container: those of its description, that of the unit,
// and those that its image exposes.
func portsOf(spec lab.UnitSpec, image engine.ImageConfig) []lab.ContainerPort {
	ports := slices.Clone(spec.Container.Ports)
	add := func(port int) {
		if port != 0 && !slices.ContainsFunc(ports, func(p lab.ContainerPort) bool { return p.Port == port }) {
			ports = append(ports, lab.ContainerPort{Port: port, Target: port})
		}
	}
	add(spec.Port)
	for _, name := range slices.Sorted(maps.Keys(image.ExposedPorts)) {
		if text, isTCP := strings.CutSuffix(name, "/tcp"); isTCP {
			port, _ := strconv.Atoi(text) // Docker writes a number
			add(port)
		}
	}
	return ports
}

// healthCheck returns the health check of the container. As in Docker, one without a command has that of its
// image, and its settings where it has none of its own. nil: there is none.
func (p *pod) healthCheck(described *lab.HealthCheck) *engine.Healthcheck {
	own := engine.HealthcheckOf(described)
	image := p.deployment.configs[p.Spec.Image].Healthcheck
	switch {
	case own != nil && len(own.Test) > 0:
		return own
	case own == nil || image == nil:
		return image
	}
	return &engine.Healthcheck{Test: image.Test, Interval: cmp.Or(own.Interval, image.Interval),
		Timeout: cmp.Or(own.Timeout, image.Timeout), Retries: cmp.Or(own.Retries, image.Retries)}
}

// probe returns the readiness probe of the container: its own health check, or else that of its image. nil:
// there is none, or it is switched off.
func (p *pod) probe(described *lab.HealthCheck) *api.Probe {
	check := p.healthCheck(described)
	if check == nil {
		return nil
	}
	probe := api.Probe{PeriodSeconds: int(math.Ceil(check.Interval.Seconds())),
		TimeoutSeconds: int(math.Ceil(check.Timeout.Seconds())), FailureThreshold: check.Retries}
	switch {
	case described != nil && described.Port != 0:
		probe.PeriodSeconds = int(math.Ceil(described.Interval))
		probe.TimeoutSeconds = int(math.Ceil(described.Timeout))
		probe.FailureThreshold = described.Retries
		call := &api.Call{Path: described.Path, Port: described.Port}
		if described.Path == "" {
			probe.TCPSocket = call
		} else {
			probe.HTTPGet = call
		}
	case len(check.Test) > 1 && check.Test[0] == "CMD":
		probe.Exec = &api.Exec{Command: literals(check.Test[1:])}
	case len(check.Test) > 1 && check.Test[0] == "CMD-SHELL":
		probe.Exec = &api.Exec{Command: literals([]string{"/bin/sh", "-c", check.Test[1]})}
	default: // NONE
		return nil
	}
	return &probe
}

// awaitHealthy waits until Kubernetes declares the pod ready, because the health check of its container has
// succeeded, and then until all nodes route calls to the pod.
func (p *pod) awaitHealthy(ctx context.Context) error {
	if err := p.awaitDeclared(ctx); err != nil {
		return err
	}
	return p.deployment.AwaitOpen(ctx, p)
}

// awaitDeclared waits until Kubernetes declares the pod ready.
func (p *pod) awaitDeclared(ctx context.Context) error {
	if p.probe(p.Spec.Container.Health) == nil {
		return fmt.Errorf("%v has no health check, and others wait until it is healthy: give it one (healthcheck)",
			p)
	}
	_, err := p.deployment.pods.awaitPod(ctx, p.name, func(state api.Pod, gone bool) (bool, error) {
		if gone || ended(state) != nil {
			return false, errors.New("it ended before")
		}
		return slices.ContainsFunc(state.Status.Conditions, func(c api.PodCondition) bool {
			return c.Type == "Ready" && c.Status == "True"
		}), nil
	})
	if err != nil {
		return fmt.Errorf("%v is not healthy: %w%s", p, err, p.Log.LastWords())
	}
	return nil
}
