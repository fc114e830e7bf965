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

// ImageName begins the names of images that Cleave makes; their tag is the label.
const ImageName = "cleave-unit-"

// dockerPatience bounds the removal of one thing: some containers cannot be removed.
const dockerPatience = 15 * time.Second

// Docker lists what in Docker carries a label that is wanted. Without Docker, or
// without its daemon, there is nothing.
func Docker(wanted func(label string) bool) ([]Leftover, error) {
	ctx := context.Background()
	client, err := engine.Open(ctx)
	if err != nil {
		return nil, nil
	}
	things, err := client.List(ctx, DockerLabel)
	var found []Leftover
	for _, thing := range things {
		if wanted(thing.Label) && (thing.Kind != "image" || strings.HasPrefix(thing.ID, ImageName)) {
			found = append(found, Leftover(thing))
		}
	}
	return found, err
}

// silentDocker says that there was a daemon, which does not answer now: what is in Docker is not
// known then. "": there is one, or none was.
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
	return client.RemoveThing(ctx, engine.Thing(l))
}
