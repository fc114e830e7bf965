package private

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
)

// Container identifies a container of a pod on its node.
type Container struct {
	Pod   string // the pod's UID
	Class string // its QoS class: "BestEffort", "Burstable", "Guaranteed"
	ID    string // such as "containerd://0a1b"
}

// id returns the ID by which containerd knows the container.
func (c Container) id() string { return strings.TrimPrefix(c.ID, "containerd://") }

// PID returns the process ID, on this host, of the container's first process; 0 if there is none.
func (n *Node) PID(c Container) int { return cgroup.First(cgroup.Root, n.groupOf(c)) }

// CPU returns the processor time that all processes of the container have used.
func (n *Node) CPU(c Container) (time.Duration, error) { return cgroup.CPU(cgroup.Root, n.groupOf(c)) }

// Bind limits the container to processors, such as "0,2-3".
func (n *Node) Bind(c Container, processors string) error {
	return cgroup.Bind(cgroup.Root, n.groupOf(c), processors)
}

// groupOf returns the container's control group, relative to every controller.
func (n *Node) groupOf(c Container) string {
	pods := filepath.Join(n.group, "kubepods", strings.ToLower(c.Class))
	if c.Class == "Guaranteed" {
		pods = filepath.Join(n.group, "kubepods")
	}
	return filepath.Join(pods, "pod"+c.Pod, c.id())
}

// Pause freezes all processes of a container, and checks that they are frozen.
func (n *Node) Pause(ctx context.Context, c Container) error {
	if err := n.tasks(ctx, "pause", c); err != nil {
		return err
	}
	frozen, err := n.frozen(ctx, c)
	if err == nil && !frozen {
		err = errors.New("its processes are not frozen")
	}
	return err
}

// Resume lets the processes of a paused container go on. It does nothing if the container is not paused.
func (n *Node) Resume(ctx context.Context, c Container) error {
	frozen, err := n.frozen(ctx, c)
	if err != nil || !frozen {
		return err
	}
	return n.tasks(ctx, "resume", c)
}

// tasks performs an action of ctr, such as "pause", on a container.
func (n *Node) tasks(ctx context.Context, what string, c Container) error {
	return n.Run(ctx, "ctr", "--namespace=k8s.io", "tasks", what, c.id())
}

// frozen reports whether the container is paused.
func (n *Node) frozen(ctx context.Context, c Container) (bool, error) {
	states, err := n.states(ctx)
	return states[c.id()] == "PAUSED", err
}

// states returns the states of the node's containers, such as "RUNNING", by their IDs.
func (n *Node) states(ctx context.Context) (map[string]string, error) {
	text, err := n.Command(ctx, "ctr", "--namespace=k8s.io", "tasks", "ls").Output()
	if err != nil {
		return nil, fmt.Errorf("list the containers of %s: %w", n.Name, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "TASK" {
			found[words[0]] = words[2]
		}
	}
	return found, nil
}

// AwaitEmpty waits until the node's containerd runs no container of a pod.
func (n *Node) AwaitEmpty(ctx context.Context) error {
	return n.cluster.await(ctx, n.Name+" is not empty", func(ctx context.Context) error {
		states, err := n.states(ctx)
		for id, state := range states {
			if state != "STOPPED" {
				return fmt.Errorf("the container %.12s is %s", id, state)
			}
		}
		return err
	})
}
