package swarm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/registry"
)

// Variable is the environment variable that names a swarm of the user's: the address of one of its managers,
// written as in DOCKER_HOST, or a context of the docker program.
const Variable = "CLEAVE_USE_SWARM"

// UserSwarm is a swarm of the user's. It is first contacted by Preflight.
type UserSwarm struct {
	Name    string // the value of Variable
	Starter string // path of the starter program (unit/starter), the first process of our containers

	images *registry.Repository // of units; nil: the user names none

	inspecting sync.Once // guards the fields below, which inspect sets
	manager    *engine.Client
	member     engine.Member
	nodes      []engine.SwarmNode // those that are ready and take tasks
	unusable   error              // why the swarm cannot be used
}

// FromEnvironment returns the swarm that the environment variables name, or nil if they name none.
func FromEnvironment(lookup func(string) (string, bool)) (*UserSwarm, error) {
	name, _ := lookup(Variable)
	if name == "" {
		return nil, nil
	}
	images, err := registry.FromEnvironment(lookup)
	return &UserSwarm{Name: name, images: images}, err
}

// inspectPatience limits how long a manager may take to describe its swarm.
const inspectPatience = 20 * time.Second

// inspect returns why the swarm cannot be used. Only the first call asks the manager; later calls return the
// same error, even if it was the end of the first call's context.
func (u *UserSwarm) inspect(ctx context.Context) error {
	u.inspecting.Do(func() {
		ctx, cancel := context.WithTimeoutCause(ctx, inspectPatience,
			fmt.Errorf("no answer in %v", inspectPatience))
		defer cancel()
		u.unusable = u.ask(ctx)
	})
	return u.unusable
}

// oldest is the minor version of the oldest Engine API (1.41, of Docker 20.10) that has all calls we need.
const oldest = 41

// ask sets manager, member and nodes, or returns why the swarm cannot be used.
func (u *UserSwarm) ask(ctx context.Context) (err error) {
	if u.manager, err = engine.OpenNamed(ctx, u.Name); err != nil {
		return fmt.Errorf("the swarm %s: %w: look whether its manager runs, and may be reached from here", u.Name,
			err)
	}
	minor := 0
	if _, err := fmt.Sscanf(u.manager.Version(), "1.%d", &minor); err == nil && minor < oldest {
		return fmt.Errorf("the swarm %s: its manager speaks version %s of the Engine API, and 1.%d is needed: "+
			"update Docker there", u.Name, u.manager.Version(), oldest)
	}
	if u.member, err = u.manager.Member(ctx); err != nil {
		return fmt.Errorf("the swarm %s: %w", u.Name, err)
	}
	if !u.member.ControlAvailable {
		is := "a worker of a swarm"
		if u.member.LocalNodeState != "active" {
			is = "in no swarm (" + u.member.LocalNodeState + ")"
		}
		return fmt.Errorf("the Docker daemon %s is %s: name a manager: docker node ls, asked of one, lists them",
			u.Name, is)
	}
	if u.images != nil {
		u.manager.PullAs(u.images.Identity())
	}
	nodes, err := u.manager.SwarmNodes(ctx)
	if err != nil {
		return fmt.Errorf("the swarm %s: %w", u.Name, err)
	}
	u.nodes = slices.DeleteFunc(nodes, func(n engine.SwarmNode) bool {
		return n.Status.State != "ready" || n.Spec.Availability != "active"
	})
	if len(u.nodes) == 0 {
		return fmt.Errorf("the swarm %s has no node that is ready and takes tasks: see docker node ls", u.Name)
	}
	return nil
}

// addressOf returns the address at which other hosts reach a node.
func addressOf(n engine.SwarmNode) string {
	if host, _, err := net.SplitHostPort(n.ManagerStatus.Addr); err == nil {
		return host
	}
	return n.Status.Addr
}

// Addresses returns the addresses of the nodes that take tasks. The manager that Name names comes first.
func (u *UserSwarm) Addresses(ctx context.Context) ([]string, error) {
	if err := u.inspect(ctx); err != nil {
		return nil, err
	}
	var all []string
	for _, n := range u.nodes {
		if n.ID == u.member.NodeID {
			all = append([]string{addressOf(n)}, all...)
			continue
		}
		all = append(all, addressOf(n))
	}
	return all, nil
}

// asUserCluster describes the swarm for the checks of layouts. Before inspect it lists no nodes.
func (u *UserSwarm) asUserCluster() containers.UserCluster {
	c := containers.UserCluster{Name: u.Name, Units: "services", Ours: "swarm",
		Cores: "Swarm cannot pin services to processors", NoNode: "none of that name that takes tasks",
		Registry: u.images != nil}
	for _, n := range u.nodes {
		resources := n.Description.Resources
		c.Nodes = append(c.Nodes, n.Description.Hostname)
		c.Largest.CPU = max(c.Largest.CPU, float64(resources.NanoCPUs)/1e9)
		c.Largest.Memory = max(c.Largest.Memory, resources.MemoryBytes)
	}
	return c
}

// ProofPlace is the place, as messages name it, where the owner of a swarm puts the token that proves consent
// to load.
const ProofPlace = "the config cleave-load of the swarm"

// Proof returns the token at ProofPlace.
func (u *UserSwarm) Proof(ctx context.Context) ([]byte, error) {
	if err := u.inspect(ctx); err != nil {
		return nil, err
	}
	text, err := u.manager.Config(ctx, "cleave-load")
	return []byte(strings.TrimSpace(string(text))), err
}

// freeSubnet returns the first network of 1024 addresses in 198.18.0.0/16, as ADDRESS/BITS, that overlaps
// none of the taken ones.
func freeSubnet(taken []string) (string, error) {
	var others []netip.Prefix
	for _, text := range taken {
		if prefix, err := netip.ParsePrefix(text); err == nil { // a text that is no prefix cannot overlap
			others = append(others, prefix)
		}
	}
	for third := 0; third < 256; third += 4 {
		candidate := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(third), 0}), 22)
		if !slices.ContainsFunc(others, candidate.Overlaps) {
			return candidate.String(), nil
		}
	}
	return "", errors.New("all ranges of 1024 addresses in 198.18.0.0/16 are taken by networks of the swarm: " +
		"remove some")
}
