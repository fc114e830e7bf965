package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestOutOfMemoryIsSeen checks that Wait reports a lack of memory though the daemon may learn of it after
// the end of the container.
func TestOutOfMemoryIsSeen(t *testing.T) {
	dockertest.Start(t)
	client, err := engine.Open(t.Context())
	testset.Must(t, err)
	name := "cleave-memory-" + deploytest.Label(t)
	labels := map[string]string{leftovers.DockerLabel: deploytest.Label(t)}
	archive, _, err := containers.Archive(name+":latest", "", labels)
	if err == nil {
		_, err = client.Load(t.Context(), bytes.NewReader(archive))
	}
	testset.Must(t, err)
	// A private daemon has ended by then, and the image with it.
	defer func() { _ = client.Remove(context.WithoutCancel(t.Context()), "image", name) }()
	var names []string  // of containers
	for i := range 24 { // the daemon learns of it too late only now and then
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	err = fleet.ForAll(t.Context(), 6, names, func(ctx context.Context, name string) error {
		return runOutOfMemory(ctx, client, name, labels)
	})
	deploytest.NoError(t, err)
}

// runOutOfMemory runs a container that takes memory until the kernel kills it, and checks what Wait reports.
func runOutOfMemory(
	ctx context.Context, client *engine.Client, name string, labels map[string]string,
) error {
	made := engine.Container{
		Image: "cleave-memory-" + labels[leftovers.DockerLabel], Labels: labels,
		Cmd: []string{"/usr/bin/sh", "-c", "sleep 0.5; exec tail /dev/zero"}, // Docker needs a moment to watch it
		HostConfig: engine.HostConfig{NetworkMode: "none", Memory: 16 << 20, MemorySwap: 16 << 20,
			Binds: []string{"/usr:/usr:ro"}},
	}
	if err := errors.Join(client.Create(ctx, name, made), client.Start(ctx, name)); err != nil {
		return err
	}
	code, outOfMemory, err := client.Wait(ctx, name, func() bool { return false })
	if err == nil && (code != 137 || !outOfMemory) {
		err = fmt.Errorf("%s ended with %d, out of memory: %t", name, code, outOfMemory)
	}
	return errors.Join(err, client.Remove(context.WithoutCancel(ctx), "container", name))
}
