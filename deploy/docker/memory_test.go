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
)

// TestEndsForWantOfMemoryAreSeen: the daemon may hear that a container was out of memory after it has told
// its end.
func TestEndsForWantOfMemoryAreSeen(t *testing.T) {
	dockertest.Start(t)
	client, err := engine.Open(t.Context())
	deploytest.Must(t, err)
	name := "cleave-memory-" + deploytest.Label(t)
	labels := map[string]string{leftovers.DockerLabel: deploytest.Label(t)}
	archive, _, err := containers.Archive(name+":latest", "", labels)
	if err == nil {
		_, err = client.Load(t.Context(), bytes.NewReader(archive))
	}
	deploytest.Must(t, err)
	defer func() { _ = client.RemoveImage(context.WithoutCancel(t.Context()), name) }() // the daemon ends, too
	var names []string
	for i := range 24 {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	err = fleet.ForAll(t.Context(), 6, names, func(ctx context.Context, name string) error {
		return endForWantOfMemory(ctx, client, name, labels)
	})
	deploytest.NoError(t, err)
}

// endForWantOfMemory runs a container that takes ever more memory.
func endForWantOfMemory(
	ctx context.Context, client *engine.Client, name string, labels map[string]string,
) error {
	made := engine.Container{
		Image: "cleave-memory-" + labels[leftovers.DockerLabel], Labels: labels,
		Cmd: []string{"/usr/bin/sh", "-c", "sleep 0.5; exec tail /dev/zero"}, // Docker needs a moment to look,
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
	return errors.Join(err, client.Remove(context.WithoutCancel(ctx), name))
}
