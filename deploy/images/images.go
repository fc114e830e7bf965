// Package images brings users' images from this host's Docker to nodes that Cleave makes, for
// units that are containers of them. It pulls no image: a measurement must not change with the
// present content of a registry.
//
// Entry points: Check, Sizes, Send.
package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/lab"
)

// HasUserImage reports whether a unit is a container of a user's image.
func HasUserImage(spec lab.UnitSpec) bool { return spec.Image != "" }

// Without returns the preparations and units of a layout that are no containers of users' images.
func Without(layout lab.Layout) []lab.UnitSpec {
	return slices.DeleteFunc(slices.Concat(layout.Prepare, layout.Units), HasUserImage)
}

// Check returns an error for units whose images this host's Docker does not have.
func Check(ctx context.Context, units []lab.UnitSpec) error {
	if !slices.ContainsFunc(units, HasUserImage) {
		return nil
	}
	client, err := engine.Open(ctx)
	if err != nil {
		return fmt.Errorf("images are those of this host's Docker, which does not answer: %w", err)
	}
	var problems []error
	for _, spec := range units {
		if !HasUserImage(spec) {
			continue
		}
		image, err := client.Image(ctx, spec.Image)
		switch {
		case err != nil:
			problems = append(problems, err)
		case image.ID == "":
			problems = append(problems, &lab.MissingError{
				What:    fmt.Sprintf("unit %s: Docker has no image %s here", spec.Name, spec.Image),
				Install: cmp.Or(spec.Install, "docker pull "+spec.Image)})
		}
	}
	return errors.Join(problems...)
}

// Config returns the configuration of an image of this host's Docker.
func Config(ctx context.Context, name string) (engine.ImageConfig, error) {
	client, err := engine.Open(ctx)
	if err != nil {
		return engine.ImageConfig{}, err
	}
	image, err := client.Image(ctx, name)
	if err == nil && image.ID == "" { // it was removed after Check
		err = fmt.Errorf("the image %s is gone from this host's Docker", name)
	}
	return image.Config, err
}

// Sizes returns the images of units whose sizes this host's Docker knows, each once.
func Sizes(ctx context.Context, units []lab.UnitSpec) []lab.ProgramImage {
	var names []string
	for _, spec := range units {
		if HasUserImage(spec) {
			names = append(names, spec.Image)
		}
	}
	if len(names) == 0 {
		return nil
	}
	client, err := engine.Open(ctx)
	if err != nil {
		return nil // the sizes are unknown
	}
	return SizesBy(ctx, client, names)
}

// SizesBy returns the images of these names whose sizes a daemon knows, each once. It sorts names.
func SizesBy(ctx context.Context, client *engine.Client, names []string) (all []lab.ProgramImage) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if image, err := client.Image(ctx, name); err == nil && image.Size > 0 {
			all = append(all, lab.ProgramImage{Program: name, Bytes: image.Size})
		}
	}
	return all
}

// Send calls take with the archive of an image of this host's Docker, in the format of `docker save`.
func Send(ctx context.Context, name string, take func(context.Context, io.Reader) error) error {
	client, err := engine.Open(ctx)
	if err != nil {
		return err
	}
	return client.Save(ctx, name, take)
}
