package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/lab"
)

// Services are the backing services of one trial, by name.
type Services map[string]lab.Service

// OpenServices opens the services of a layout concurrently. backings are the backings by kind. Embedded
// services keep their files below scratch. After an error no service is open.
func OpenServices(
	ctx context.Context, backings map[string]lab.Backing, layout lab.Layout, scratch string,
) (Services, error) {
	opened := Services{}
	var mu sync.Mutex
	err := forAll(layout.Services, func(spec lab.ServiceSpec) error {
		service, err := openService(ctx, backings, spec, scratch)
		if err != nil {
			return fmt.Errorf("backing service %s (%s): %w", spec.Name, spec.Kind, err)
		}
		mu.Lock()
		defer mu.Unlock()
		opened[spec.Name] = service
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, opened.Release())
	}
	return opened, nil
}

// forAll calls do for all values concurrently. It continues after errors and returns all of them, in the
// order of the values.
func forAll[T any](all []T, do func(T) error) error {
	problems := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() { problems[i] = do(one) })
	}
	running.Wait()
	return errors.Join(problems...)
}

func openService(
	ctx context.Context, backings map[string]lab.Backing, spec lab.ServiceSpec, scratch string,
) (lab.Service, error) {
	backing, err := backingNamed(backings, spec)
	if err != nil {
		return lab.Service{}, err
	}
	dir := filepath.Join(scratch, "services", spec.Name+"-"+spec.Kind)
	if err := makeFolder(dir); err != nil {
		return lab.Service{}, fmt.Errorf("make the service's directory: %w", err)
	}
	return backing.Fresh(ctx, spec, dir)
}

func backingNamed(backings map[string]lab.Backing, spec lab.ServiceSpec) (lab.Backing, error) {
	backing, known := backings[spec.Kind]
	if !known {
		return backing, fmt.Errorf("there is no backing %q; there are %v", spec.Kind,
			slices.Sorted(maps.Keys(backings)))
	}
	return backing, nil
}

// preflightServices returns an error for each part that this host lacks for the services of a layout.
func (c *Conductor) preflightServices(layout lab.Layout) error {
	var problems []error
	for _, spec := range layout.Services {
		backing, err := backingNamed(c.Backings, spec)
		if err == nil && backing.Preflight != nil {
			err = backing.Preflight()
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Release releases all services concurrently.
func (s Services) Release() error {
	return forAll(slices.Sorted(maps.Keys(s)), func(name string) error {
		release := s[name].Release
		if release == nil {
			return nil
		}
		if err := release(); err != nil {
			return fmt.Errorf("release the backing service %s: %w", name, err)
		}
		return nil
	})
}

// Introduce returns the layout with the servers of the services as further units. The units of the system
// get the servers as peers, the addresses of the services in their environment, and the folders of file
// services as mounts. Foreign units get these only if they are Served. Introduce returns an error if a
// server has the name of a unit.
func (s Services) Introduce(layout lab.Layout) (lab.Layout, error) {
	var servers []lab.UnitSpec
	var inputs serviceInputs
	for _, spec := range layout.Services {
		service := s[spec.Name]
		at := ""
		if service.Server != nil {
			server := *service.Server
			server.Node = spec.Node
			server.Limits = spec.Limits
			server.Replicated = spec.Replicated
			servers = append(servers, server)
			inputs.peers = append(inputs.peers, server.Name)
			at = lab.AddressOf(server.Name)
		}
		inputs.environment = append(inputs.environment, lab.ServiceVariable(spec.Name)+"="+service.Address(at))
		if service.Folder != "" {
			inputs.folders = append(inputs.folders, service.Folder)
			if spec.Replicated {
				layout.Replicated = append(layout.Replicated, service.Folder)
			}
		}
	}
	for _, server := range servers {
		if slices.ContainsFunc(layout.Units, func(u lab.UnitSpec) bool { return u.Name == server.Name }) {
			return layout, fmt.Errorf("%s is the name of a unit and of a backing service: rename one of them",
				server.Name)
		}
	}
	layout.Units = append(inputs.addTo(layout.Units), servers...)
	layout.Prepare = inputs.addTo(layout.Prepare)
	return layout, nil
}

// serviceInputs holds the peers, environment and mounts that services add to the units of a system.
type serviceInputs struct{ peers, environment, folders []string }

// addTo returns the units with the inputs. Foreign units get them only if they are Served.
func (s serviceInputs) addTo(units []lab.UnitSpec) []lab.UnitSpec {
	units = slices.Clone(units)
	for i, unit := range units {
		if !unit.Foreign || unit.Served {
			units[i].Peers = slices.Concat(unit.Peers, s.peers)
			units[i].Env = slices.Concat(unit.Env, s.environment)
			units[i].Mounts = slices.Concat(unit.Mounts, s.folders)
		}
	}
	return units
}

// Addresses returns the addresses of the services for clients on the conductor's host, by the services'
// names.
func (s Services) Addresses(deployment lab.Deployment) (map[string]string, error) {
	all := make(map[string]string, len(s))
	for name, service := range s {
		at := ""
		if service.Server != nil {
			endpoint, err := deployment.Endpoint(service.Server.Name)
			if err != nil {
				return nil, err
			}
			at = endpoint.Dial
		}
		all[name] = service.Address(at)
	}
	return all, nil
}

// descriptions describes the services of a layout, by name. For a replicated service it adds the disk, if the
// deployer describes one.
func (s Services) descriptions(layout lab.Layout, deployer lab.Deployer) map[string]string {
	if len(s) == 0 {
		return nil
	}
	all := make(map[string]string, len(s))
	disk := deployer.Can().Disk
	for _, spec := range layout.Services {
		all[spec.Name] = s[spec.Name].About()
		if disk != nil && spec.Replicated {
			all[spec.Name] += ", on " + disk()
		}
	}
	return all
}

// cancelOnFailure returns a context that ends when the deployment fails, or when stop is called.
func cancelOnFailure(ctx context.Context, deployment lab.Deployment) (limited context.Context, stop func()) {
	limited, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-deployment.Failed():
			end(deployment.Failure())
		case <-limited.Done():
		}
	}()
	return limited, func() { end(nil) }
}

// failureOr returns the failure of a deployment or, if it has not failed, the error of its trial, which may
// be nil. After a failure all other errors are its consequences.
func failureOr(deployment lab.Deployment, err error) error {
	if failure := deployment.Failure(); failure != nil {
		return failure
	}
	return err
}
