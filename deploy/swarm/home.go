package swarm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// prefix begins the names of all that we make; the conductor's label follows.
	prefix = "cleave-"
	// doorPatience is how long doors may take to come, with the image pulled, and
	// nodes to hear of each other.
	doorPatience = 2 * time.Minute
	// leavePatience is how long a swarm may take to remove all that is ours.
	leavePatience = time.Minute
	// lookAgain is the pause before the swarm is asked again for what has not come yet.
	lookAgain = 100 * time.Millisecond
)

// home keeps two things of ours on a swarm of the user's between trials: a network, and on every node a door
// that leads into it. The doors also keep all nodes in the network: a node is in one only while a
// task of it is, and when several come at once, with the units, they may not hear of each
// other's units for minutes.
type home struct {
	deployer *Deployer
	swarm    *Users
	manager  *engine.Client
	name     string // that others begin with
	network  string // its ID; "" until it is made
	key      []byte // of the doors, and of their callers
	secured  *tls.Config
	doors    []string // host:port
	inside   []string // the same, as the network of the units has them
}

// can returns what the starters of units can do, without powers on nodes.
func (h *home) can() lab.Capabilities { return lab.Capabilities{Faults: fleet.StarterFaults()} }

// preflight refuses what services of a swarm that is not ours cannot be.
func (h *home) preflight(ctx context.Context, layout lab.Layout) error {
	err := h.swarm.look(ctx)
	return errors.Join(err, h.swarm.asUserCluster().CheckLayout(layout, h.deployer.programs, h.swarm.Starter),
		containers.CheckDescribed("Swarm", layout.Units, lacks), containers.CheckPorts(layout.Units))
}

// load puts the image of a program, or of none, into the registry, with the starter beside it. Nodes pull
// images of the user's by their names.
func (h *home) load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error) {
	if isUsers {
		return content, 0, nil
	}
	name, config, layer, err := containers.Pushed(content, h.swarm.Starter)
	if err == nil {
		image, err = h.swarm.images.Push(ctx, registry.Image{Name: name, Config: config, Layer: layer})
	}
	return image, len(layer), err
}

// enter makes the home of this conductor. The doors' image has the starter alone.
func (h *home) enter(ctx context.Context) (err error) {
	if err := h.swarm.look(ctx); err != nil { // Preflight does not know servers
		return err
	}
	bare, err := h.deployer.images.Bare(ctx)
	if err != nil || h.network != "" {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a network for units on the swarm %s: %w", h.swarm.Name, err), h.leave())
		}
	}()
	h.manager = h.swarm.manager
	if h.key, err = lab.NewProxyKey(); err != nil {
		return err
	}
	if h.secured, err = lab.ProxyTLS(h.key); err != nil {
		return err
	}
	taken, err := h.manager.Subnets(ctx)
	if err != nil {
		return err
	}
	subnet, err := freeSubnet(taken)
	if err != nil {
		return err
	}
	if h.network, err = h.manager.MakeOverlay(ctx,
		engine.Overlay{Name: h.name, Subnet: subnet, Attachable: true, Labels: h.deployer.labels()}); err != nil {
		return err
	}
	return h.open(ctx, bare, subnet)
}

// nobody is the user of all that runs there.
const nobody = 65534

// open makes the doors to the network and waits until they lead everywhere.
func (h *home) open(ctx context.Context, image, subnet string) error {
	secret, err := h.manager.MakeSecret(ctx, h.name+"-key", h.deployer.labels(), h.key)
	if err != nil {
		return err
	}
	published, err := h.manager.PublishedPorts(ctx)
	if err != nil {
		return err
	}
	port := firstPublished
	for published[port] {
		port++
	}
	user := strconv.Itoa(nobody)
	doors := h.name + "-doors"
	service, err := h.manager.CreateService(ctx, engine.Service{
		Name: doors, Labels: h.deployer.labels(),
		TaskTemplate: engine.TaskTemplate{
			ContainerSpec: engine.ServiceContainer{
				Image: image, Labels: h.deployer.labels(), ReadOnly: true, User: user + ":" + user,
				CapabilityDrop: []string{"ALL"},
				Command: []string{"/" + lab.StarterProgram, lab.StarterProxy,
					anyAddress(controlPort), subnet},
				Secrets:         []engine.SecretFile{engine.Secret(secret, h.name+"-key", lab.StarterKeyFile, user)},
				StopGracePeriod: time.Second,
			},
			RestartPolicy: engine.RestartPolicy{Condition: "none"}, LogDriver: engine.LogDriver{Name: "json-file"},
			Networks: []engine.ServiceNetwork{{Target: h.network}},
		},
		Mode: engine.ServiceMode{Global: &struct{}{}},
		EndpointSpec: engine.EndpointSpec{Mode: "dnsrr", Ports: []engine.PublishedPort{
			{Protocol: "tcp", TargetPort: controlPort, PublishedPort: port, PublishMode: "host"}}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, doorPatience, fmt.Errorf("not ready after %v", doorPatience))
	defer cancel()
	tasks, err := h.awaitDoors(ctx, service)
	if err != nil {
		return err
	}
	addresses, err := h.swarm.Addresses(ctx)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		h.doors = append(h.doors, net.JoinHostPort(address, strconv.Itoa(port)))
	}
	for _, task := range tasks {
		if err := h.awaitPeers(ctx, task, doors, len(tasks)); err != nil {
			return err
		}
		h.inside = append(h.inside, net.JoinHostPort(h.addressOf(task), strconv.Itoa(controlPort)))
	}
	return nil
}

// awaitKnown waits until a unit is known by name on every node. Nodes hear of each other's a
// moment late, and foreign programs look names up but once.
func (h *home) awaitKnown(ctx context.Context, unit string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, doorPatience, fmt.Errorf("not known after %v", doorPatience))
	defer cancel()
	for _, door := range h.inside {
		if err := fleet.Until(ctx, lookAgain, func() (bool, error) {
			count, err := h.count(ctx, door, unit)
			return err == nil && count > 0, err
		}); err != nil {
			return fmt.Errorf("unit %s in the network %s: %w", unit, h.name, err)
		}
	}
	return nil
}

// awaitDoors waits until every node has its door.
func (h *home) awaitDoors(ctx context.Context, service string) (tasks []engine.Task, err error) {
	err = fleet.Until(ctx, lookAgain, func() (done bool, err error) {
		if tasks, err = h.manager.Tasks(ctx, "service", service); err != nil {
			return true, err
		}
		running := 0
		for _, task := range tasks {
			if task.Status.State == "rejected" || task.Status.State == "failed" { // it will never run
				return true, fmt.Errorf("the door on %s cannot be: %s", h.nodeName(task.NodeID), advised(task))
			}
			if task.Status.State == "running" {
				running++
			}
		}
		if running == len(h.swarm.nodes) {
			return true, nil
		}
		return false, fmt.Errorf("%d of %d nodes have their door: see docker service ps %s-doors", running,
			len(h.swarm.nodes), h.name)
	})
	return tasks, err
}

// nodeName returns what the user calls a node.
func (h *home) nodeName(id string) string {
	for _, n := range h.swarm.nodes {
		if n.ID == id {
			return n.Description.Hostname
		}
	}
	return id
}

// awaitPeers waits until a door is reached through the others' network, and has heard of all
// of them.
func (h *home) awaitPeers(ctx context.Context, door engine.Task, name string, all int) error {
	return fleet.Until(ctx, lookAgain, func() (bool, error) {
		count, err := h.count(ctx, net.JoinHostPort(h.addressOf(door), strconv.Itoa(controlPort)), name)
		if err == nil && count == all {
			return true, nil
		}
		return false, errors.Join(fmt.Errorf("%s sees %d of %d nodes in the network %s: look whether the nodes "+
			"let each other's ports 4789/udp, 7946/tcp and 7946/udp through", h.nodeName(door.NodeID), count, all,
			h.name), err)
	})
}

// addressOf returns where a task is reached in the network of the units; "": it has no place there.
func (h *home) addressOf(task engine.Task) string {
	for _, attached := range task.NetworksAttachments {
		if attached.Network.ID == h.network && len(attached.Addresses) > 0 {
			address, _, _ := strings.Cut(attached.Addresses[0], "/")
			return address
		}
	}
	return ""
}

// count asks a door, at its address in the network, how many addresses a name has.
func (h *home) count(ctx context.Context, door, name string) (int, error) {
	there, err := h.through(ctx, door)
	if err != nil {
		return 0, err
	}
	connection := tls.Client(there, h.secured)
	defer func() { _ = connection.Close() }() // the answer is in
	said, err := h.say(connection, lab.ProxyCount+name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(said)
}

const (
	// dialPatience is how long a node may take to accept, and answerPatience a door to answer.
	dialPatience   = 3 * time.Second
	answerPatience = 10 * time.Second
	longestAnswer  = 512
)

// through connects to an address in the network of the units, through the first door that
// accepts.
func (h *home) through(ctx context.Context, address string) (net.Conn, error) {
	var problems []error
	for _, door := range h.doors {
		plain, err := (&net.Dialer{Timeout: dialPatience}).DialContext(ctx, "tcp", door)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		connection := tls.Client(plain, h.secured)
		said, err := h.say(connection, lab.ProxyDial+address)
		if err == nil && said != lab.ProxyOpen {
			err = errors.New(said)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("through the door at %s: %w", door, err), connection.Close())
		}
		return connection, nil
	}
	return nil, fmt.Errorf("no node lets this host in at the port of its door: %w", errors.Join(problems...))
}

// say asks a door for something and returns the line that it answers with.
func (h *home) say(connection net.Conn, wanted string) (string, error) {
	if err := connection.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, wanted+"\n"); err != nil {
		return "", err
	}
	var line []byte
	// what follows is not for us
	for one := make([]byte, 1); len(line) < longestAnswer; line = append(line, one[0]) {
		if _, err := io.ReadFull(connection, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return string(line), connection.SetDeadline(time.Time{})
		}
	}
	return "", fmt.Errorf("its answer is too long: %.40q", line)
}

// leave removes all that carries the label, and waits until it is gone.
func (h *home) leave() error {
	manager := h.manager
	h.manager, h.network, h.doors, h.inside = nil, "", nil, nil
	if manager == nil { // nothing was made
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), leavePatience,
		fmt.Errorf("not gone after %v", leavePatience))
	defer cancel()
	if err := remove(ctx, manager, h.deployer.label); err != nil {
		return fmt.Errorf("%s* is still on the swarm %s: %w: remove it later with: %s=%s cleave clean", h.name,
			h.swarm.Name, err, Variable, h.swarm.Name)
	}
	return nil
}

// remove removes all that is of a conductor, and waits until it is gone. A network goes after
// the last task in it.
func remove(ctx context.Context, manager *engine.Client, label string) error {
	err := fleet.Until(ctx, lookAgain, func() (bool, error) {
		kept, err := manager.Kept(ctx, leftovers.DockerLabel)
		if err != nil {
			return true, err
		}
		kept = slices.DeleteFunc(kept, func(k engine.Kept) bool {
			return k.Label != label || !strings.HasPrefix(k.Name, prefix+label)
		})
		for _, k := range kept {
			err = errors.Join(err, manager.RemoveKept(ctx, k)) // looked at again
		}
		return len(kept) == 0, err
	})
	if err != nil {
		return err
	}
	// The nodes end tasks after their services are gone.
	return fleet.Until(ctx, lookAgain, func() (bool, error) {
		tasks, err := manager.Tasks(ctx, "label", leftovers.DockerLabel+"="+label)
		if err != nil || len(tasks) == 0 {
			return true, err
		}
		return false, fmt.Errorf("%d tasks are left", len(tasks))
	})
}

// Clean removes what conductors that are gone have left, and names it. What is of one of which
// that cannot be told from here is unclear, and stays. Only what is of the conductor with a
// label is looked at, unless that is empty.
func (u *Users) Clean(ctx context.Context, label string) (removed, unclear []string, err error) {
	if err := u.look(ctx); err != nil {
		return nil, nil, err
	}
	kept, err := u.manager.Kept(ctx, leftovers.DockerLabel)
	if err != nil {
		return nil, nil, fmt.Errorf("the swarm %s: %w", u.Name, err)
	}
	var labels []string
	for _, k := range kept {
		if strings.HasPrefix(k.Name, prefix+k.Label) && (label == "" || k.Label == label) {
			labels = append(labels, k.Label)
		}
	}
	return leftovers.CleanCluster(ctx, labels,
		func(label string) string {
			return fmt.Sprintf("what begins with %s%s on the swarm %s", prefix, label, u.Name)
		},
		func(ctx context.Context, label string) error { return remove(ctx, u.manager, label) })
}
