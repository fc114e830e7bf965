package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// prepared loads the images of units into the daemon and returns a client of it. The daemon has users' images
// already.
func (d *Deployer) prepared(ctx context.Context, units []lab.UnitSpec) (_ *engine.Client, err error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.engine == nil {
		if d.engine, err = engine.Open(ctx); err != nil {
			return nil, unanswered(err)
		}
	}
	return d.engine, d.images.Bring(ctx, slices.DeleteFunc(units, images.HasUserImage))
}

// Close removes the images.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	var problems []error
	for _, image := range d.images.Forget() {
		problems = append(problems, d.engine.Remove(context.Background(), "image", image))
	}
	err := errors.Join(problems...)
	if gone := Missing(); err != nil && gone != nil {
		err = fmt.Errorf("its images are left (%w); when the daemon runs again, remove them with: cleave clean",
			gone)
	}
	return err
}

// Missing returns an error that names what this host lacks for containers, or nil.
func Missing() error { return missing(context.Background()) }

// missing is Missing within a context.
func missing(ctx context.Context) error {
	_, err := engine.Open(ctx)
	return unanswered(err)
}

// unanswered adds what to do to the error of a daemon that does not answer.
func unanswered(err error) error { return engine.Unanswered("containers need", err) }

// load loads the image of a unit program, or one without a program. It implements containers.Images.Load,
// whose parameter isUsers is always false here: prepared leaves out users' images.
func (d *Deployer) load(ctx context.Context, program string, _ bool) (name string, size int, err error) {
	name = leftovers.ImageName + string(d.network)
	if program != "" {
		name += "-" + filepath.Base(program)
	}
	name += ":" + d.label
	archive, _, err := containers.Archive(name, program, d.labels())
	if err != nil {
		return "", 0, err
	}
	return name, len(archive), withGrace(ctx, func(ctx context.Context) error {
		_, err := d.engine.Load(ctx, bytes.NewReader(archive))
		return err
	})
}

// checkPorts returns an error for images with a fixed port in the network of this host.
func (d *Deployer) checkPorts(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		if spec.Port != 0 && d.nodeOf(spec) == "" {
			problems = append(problems, fmt.Errorf("unit %s: the image %s would listen on port %d of all addresses "+
				"of this host: deploy it with docker-bridge, or have it listen on 127.0.0.1:{port}", spec.Name,
				spec.Image, spec.Port))
		}
	}
	return errors.Join(problems...)
}
