package leftovers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
)

// DockerLabel marks every container, network and volume that Cleave makes; its
// value is the label of the conductor.
const DockerLabel = "cleave.run"

// ImageName is the prefix of the names of images that Cleave makes; their tag is the label.
const ImageName = "cleave-unit-"

// dockerPatience bounds the removal of one object: some containers cannot be removed.
const dockerPatience = 15 * time.Second

// Docker returns the objects in Docker whose label is wanted; none if no daemon
// answers.
func Docker(wanted func(label string) bool) ([]Leftover, error) {
	ctx := context.Background()
	client, err := engine.Open(ctx)
	if err != nil {
		return nil, nil
	}
	objects, err := client.List(ctx, DockerLabel)
	var found []Leftover
	for _, object := range objects {
		// The ID of an image is its name. One of another name is the user's, even with the label, which docker
		// commit copies to it.
		isUsers := object.Kind == "image" && !strings.HasPrefix(object.ID, ImageName)
		if wanted(object.Label) && !isUsers {
			found = append(found, Leftover{object.Kind, object.ID, object.Label})
		}
	}
	return found, err
}

// silentDocker returns a message if this host has a Docker daemon that does not run now, so that
// its objects are unknown; "" if the daemon answers, or there is none.
func silentDocker() string {
	if _, err := engine.Open(context.Background()); errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Sprintf("Docker: %v: what a cleave has left there is found when the daemon runs again", err)
	}
	return ""
}

// removeDocker removes a container, network, image or volume.
func (l Leftover) removeDocker() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), dockerPatience,
		fmt.Errorf("not done after %v", dockerPatience))
	defer cancel()
	client, err := engine.Open(ctx)
	if err != nil {
		return err
	}
	return client.Remove(ctx, l.Kind, l.ID)
}
