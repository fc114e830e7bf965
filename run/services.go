package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// services are the backing services of one trial, by name.
type services map[string]lab.Service

// openServices opens what the layout asks for, all at once: servers spend most of
// their start waiting. On error nothing is left open.
func (e *experiment) openServices(ctx context.Context, layout lab.Layout) (services, error) {
	found := make([]lab.Service, len(layout.Services))
	problems := make([]error, len(layout.Services))
	var starts sync.WaitGroup
	for i, spec := range layout.Services {
		starts.Go(func() {
			var err error
			if found[i], err = e.openService(ctx, spec); err != nil {
				problems[i] = fmt.Errorf("backing service %s (%s): %w", spec.Name, spec.Kind, err)
			}
		})
	}
	starts.Wait()
	opened := services{}
	for i, spec := range layout.Services {
		if problems[i] == nil {
			opened[spec.Name] = found[i]
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, errors.Join(err, opened.release())
	}
	return opened, nil
}

func (e *experiment) openService(ctx context.Context, spec lab.ServiceSpec) (lab.Service, error) {
	backing, err := e.backing(spec)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(e.Scratch, "services", spec.Name+"-"+spec.Kind)
	if err := makeFolder(dir, 0o711); err != nil { // servers that run as another user pass through
		return nil, fmt.Errorf("make the service's directory: %w", err)
	}
	return backing.Fresh(ctx, spec, dir)
}

func (c *Conductor) backing(spec lab.ServiceSpec) (lab.Backing, error) {
	backing, known := c.Backings[spec.Kind]
	if !known {
		return nil, fmt.Errorf("there is no backing %q; there are %v", spec.Kind, slices.Sorted(maps.Keys(c.Backings)))
	}
	return backing, nil
}

// preflightServices says what the host lacks for the services of a layout.
func (c *Conductor) preflightServices(layout lab.Layout) error {
	var problems []error
	for _, spec := range layout.Services {
		backing, err := c.backing(spec)
		if err == nil {
			err = backing.Preflight()
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// closeBackings ends what backings keep running between trials.
func (c *Conductor) closeBackings() error {
	var problems []error
	for _, kind := range slices.Sorted(maps.Keys(c.Backings)) {
		if err := c.Backings[kind].Close(); err != nil {
			problems = append(problems, fmt.Errorf("end the backing %s: %w", kind, err))
		}
	}
	return errors.Join(problems...)
}

// deathError is that a backing service has ended in mid-trial.
type deathError struct{ cause error }

// Error implements error.
func (d *deathError) Error() string { return d.cause.Error() }

// Unwrap returns the cause.
func (d *deathError) Unwrap() error { return d.cause }

// watch returns a context that ends when a service ends by itself, or when stop is called.
func (s services) watch(ctx context.Context) (watched context.Context, stop func()) {
	watched, end := context.WithCancelCause(ctx)
	for _, service := range s {
		if mortal, can := service.(lab.Mortal); can {
			go func() {
				select {
				case death := <-mortal.Died():
					end(&deathError{death})
				case <-watched.Done():
				}
			}()
		}
	}
	return watched, func() { end(nil) }
}

// deathNotice is how long the news of a service's death may take in a trial that has
// failed: clients can notice it before we do.
const deathNotice = 200 * time.Millisecond

// deathOr is the death of a service that a watched trial has had, else the error of the
// trial, which may be nil: after a death all other errors are its consequences.
func deathOr(watched context.Context, played error) error {
	if played != nil {
		select {
		case <-watched.Done():
		case <-time.After(deathNotice):
		}
	}
	var death *deathError
	if errors.As(context.Cause(watched), &death) {
		return death
	}
	return played
}

// closeDeployers removes what deployers keep between trials.
func (c *Conductor) closeDeployers() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.Deployers)) {
		closer, keeps := c.Deployers[name].(io.Closer)
		if !keeps {
			continue
		}
		if err := closer.Close(); err != nil {
			problems = append(problems, fmt.Errorf("end the deployment %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// release ends the trial's use of all services, at once.
func (s services) release() error {
	names := slices.Sorted(maps.Keys(s))
	problems := make([]error, len(names))
	var ends sync.WaitGroup
	for i, name := range names {
		ends.Go(func() {
			if err := s[name].Release(); err != nil {
				problems[i] = fmt.Errorf("release the backing service %s: %w", name, err)
			}
		})
	}
	ends.Wait()
	return errors.Join(problems...)
}

// introduce is the layout in which every unit of the system knows the services.
func (s services) introduce(layout lab.Layout) lab.Layout {
	var environment []string
	for name, address := range s.addresses() {
		environment = append(environment, lab.ServiceVariable(name)+"="+address)
	}
	slices.Sort(environment)
	var folders []string
	for _, service := range s {
		if files, is := service.(lab.FileService); is {
			folders = append(folders, files.Folder())
		}
	}
	slices.Sort(folders)
	layout.Units = informed(layout.Units, environment, folders)
	layout.Prepare = informed(layout.Prepare, environment, folders)
	return layout
}

// informed are units of which our own have an environment and folders besides.
func informed(units []lab.UnitSpec, environment, folders []string) []lab.UnitSpec {
	units = slices.Clone(units)
	for i, unit := range units {
		if !unit.Foreign {
			units[i].Env = slices.Concat(unit.Env, environment)
			units[i].Mounts = slices.Concat(unit.Mounts, folders)
		}
	}
	return units
}

// addresses are what clients of the services need.
func (s services) addresses() map[string]string {
	all := make(map[string]string, len(s))
	for name, service := range s {
		all[name] = service.Address()
	}
	return all
}

// about says what the services really are.
func (s services) about() map[string]string {
	if len(s) == 0 {
		return nil
	}
	all := make(map[string]string, len(s))
	for name, service := range s {
		all[name] = service.About()
	}
	return all
}

// processes are what the meter watches beside the units.
func (s services) processes() []lab.Unit {
	var all []lab.Unit
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, s[name].Processes()...)
	}
	return all
}
