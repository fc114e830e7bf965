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
	"github.com/cleave-lab/cleave/lab"
)

const (
	// prefix begins the names of all objects that we make; the conductor's label follows.
	prefix = "cleave-"
	// proxyPatience limits how long proxies may take to start, with the pull of their image, and nodes to
	// learn of each other.
	proxyPatience = 2 * time.Minute
	// leavePatience limits how long a swarm may take to remove all our objects.
	leavePatience = time.Minute
	// pollInterval is the pause between two requests to the swarm while we wait for a state.
	pollInterval = 100 * time.Millisecond
)

// userSite keeps the objects of Cleave on a swarm of the user's between trials: a network for units, and a
// proxy on each node (lab.StarterProxy), through which the conductor reaches that network. The proxies also
// keep all nodes in the network: a node leaves a network with its last task there. When several nodes enter
// at once, with their first units, they may not learn of each other's units for minutes.
type userSite struct {
	deployer *Deployer
	swarm    *UserSwarm
	manager  *engine.Client // nil until enter
	name     string         // of the network; begins the names of all other objects
	network  string         // its ID; "" until it is made
	key      []byte         // proves proxies and conductor to each other
	secured  *tls.Config    // made of the key
	proxies  []string       // host:port, published by the nodes
	inside   []string       // host:port of the proxies in the network of the units
}

// can returns the capabilities of a swarm of the user's: the faults that starters do.
func (u *userSite) can() lab.Capabilities { return lab.Capabilities{Faults: fleet.StarterFaults()} }

// preflight returns why a layout cannot run on this swarm.
func (u *userSite) preflight(ctx context.Context, layout lab.Layout) error {
	err := u.swarm.inspect(ctx)
	return errors.Join(err, u.swarm.asUserCluster().CheckLayout(layout, u.deployer.programs, u.swarm.Starter),
		containers.CheckDescribed("Swarm", layout.Units, lacks), containers.CheckPorts(layout.Units))
}

// load implements site.
func (u *userSite) load(
	ctx context.Context, content string, isUsers bool,
) (image string, bytes int, err error) {
	return u.swarm.images.Load(ctx, u.swarm.Starter, content, isUsers)
}

// enter makes the network and the proxies, with the first trial.
func (u *userSite) enter(ctx context.Context) (err error) {
	if err := u.swarm.inspect(ctx); err != nil { // there may have been no Preflight
		return err
	}
	bare, err := u.deployer.images.Bare(ctx)
	if err != nil || u.network != "" {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a network for units on the swarm %s: %w", u.swarm.Name, err), u.leave())
		}
	}()
	u.manager = u.swarm.manager
	if u.key, err = lab.NewProxyKey(); err != nil {
		return err
	}
	if u.secured, err = lab.ProxyTLS(u.key); err != nil {
		return err
	}
	taken, err := u.manager.Subnets(ctx)
	if err != nil {
		return err
	}
	subnet, err := freeSubnet(taken)
	if err != nil {
		return err
	}
	if u.network, err = u.manager.MakeNetwork(ctx, u.name, engine.Network{Driver: "overlay", Attachable: true,
		Labels: u.deployer.labels(), IPAM: engine.PoolOf(subnet)}); err != nil {
		return err
	}
	return u.open(ctx, bare, subnet)
}

// open makes the proxies and waits until each is reached and sees all others. Their image holds only the
// starter.
func (u *userSite) open(ctx context.Context, image, subnet string) error {
	secret, err := u.manager.MakeSecret(ctx, u.name+"-key", u.deployer.labels(), u.key)
	if err != nil {
		return err
	}
	published, err := u.manager.PublishedPorts(ctx)
	if err != nil {
		return err
	}
	port := firstPublished
	for published[port] {
		port++
	}
	user := strconv.Itoa(containers.Nobody)
	proxies := u.name + "-proxies"
	service, err := u.manager.CreateService(ctx, engine.Service{
		Name: proxies, Labels: u.deployer.labels(),
		TaskTemplate: engine.TaskTemplate{
			ContainerSpec: engine.ServiceContainer{
				Image: image, Labels: u.deployer.labels(), ReadOnly: true, User: user + ":" + user,
				CapabilityDrop: []string{"ALL"},
				Command: []string{"/" + lab.StarterProgram, lab.StarterProxy,
					containers.AnyAddress(containers.ControlPort), subnet},
				Secrets:         []engine.SecretFile{engine.Secret(secret, u.name+"-key", lab.StarterKeyFile, user)},
				StopGracePeriod: stopGrace,
			},
			RestartPolicy: engine.RestartPolicy{Condition: "none"}, LogDriver: engine.LogDriver{Name: "json-file"},
			Networks: []engine.ServiceNetwork{{Target: u.network}},
		},
		Mode: engine.ServiceMode{Global: &struct{}{}},
		EndpointSpec: engine.EndpointSpec{Mode: "dnsrr", Ports: []engine.PublishedPort{
			{Protocol: "tcp", TargetPort: containers.ControlPort, PublishedPort: port, PublishMode: "host"}}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, proxyPatience, fmt.Errorf("not ready after %v", proxyPatience))
	defer cancel()
	tasks, err := u.awaitProxies(ctx, service)
	if err != nil {
		return err
	}
	addresses, err := u.swarm.Addresses(ctx)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		u.proxies = append(u.proxies, net.JoinHostPort(address, strconv.Itoa(port)))
	}
	for _, task := range tasks {
		if err := u.awaitPeers(ctx, task, proxies, len(tasks)); err != nil {
			return err
		}
		u.inside = append(u.inside, u.insideOf(task))
	}
	return nil
}

// awaitKnown waits until every node can resolve the name of a unit. Nodes learn the names of other nodes'
// units with a delay, and foreign programs may look a name up only once.
func (u *userSite) awaitKnown(ctx context.Context, unit string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, proxyPatience, fmt.Errorf("not known after %v", proxyPatience))
	defer cancel()
	for _, proxy := range u.inside {
		if err := fleet.Until(ctx, pollInterval, func() (bool, error) {
			count, err := u.countAddresses(ctx, proxy, unit)
			return err == nil && count > 0, err
		}); err != nil {
			return fmt.Errorf("unit %s in the network %s: %w", unit, u.name, err)
		}
	}
	return nil
}

// awaitProxies waits until every node runs its proxy, and returns the tasks of the proxies.
func (u *userSite) awaitProxies(ctx context.Context, service string) (tasks []engine.Task, err error) {
	err = fleet.Until(ctx, pollInterval, func() (done bool, err error) {
		if tasks, err = u.manager.Tasks(ctx, "service", service); err != nil {
			return true, err
		}
		running := 0
		for _, task := range tasks {
			if task.Status.State == "rejected" || task.Status.State == "failed" { // it will never run
				return true, fmt.Errorf("the proxy on %s cannot run: %w", u.nodeName(task.NodeID), describe(task))
			}
			if task.Status.State == "running" {
				running++
			}
		}
		tasks = slices.DeleteFunc(tasks, hasEnded)    // the swarm lists them for a while
		wanted := max(len(tasks), len(u.swarm.nodes)) // nodes may have joined since the swarm was inspected
		if running == wanted {
			return true, nil
		}
		return false, fmt.Errorf("%d of %d nodes run their proxy: see docker service ps %s-proxies", running,
			wanted, u.name)
	})
	return tasks, err
}

// nodeName returns the host name of a node, or its ID if it is not known.
func (u *userSite) nodeName(id string) string {
	for _, n := range u.swarm.nodes {
		if n.ID == id {
			return n.Description.Hostname
		}
	}
	return id
}

// awaitPeers waits until a proxy can be reached through the network of the units and resolves the name of the
// proxies to the addresses of all of them.
func (u *userSite) awaitPeers(ctx context.Context, proxy engine.Task, name string, all int) error {
	return fleet.Until(ctx, pollInterval, func() (bool, error) {
		count, err := u.countAddresses(ctx, u.insideOf(proxy), name)
		if err == nil && count == all {
			return true, nil
		}
		return false, errors.Join(fmt.Errorf("%s sees %d of %d nodes in the network %s: look whether the nodes "+
			"let each other's ports 4789/udp, 7946/tcp and 7946/udp through", u.nodeName(proxy.NodeID), count, all,
			u.name), err)
	})
}

// insideOf returns the host:port of a proxy in the network of the units.
func (u *userSite) insideOf(proxy engine.Task) string {
	return net.JoinHostPort(u.addressOf(proxy), strconv.Itoa(containers.ControlPort))
}

// addressOf returns the IP address of a task in the network of the units; "" if it has none.
func (u *userSite) addressOf(task engine.Task) string {
	for _, attached := range task.NetworksAttachments {
		if attached.Network.ID == u.network && len(attached.Addresses) > 0 {
			address, _, _ := strings.Cut(attached.Addresses[0], "/")
			return address
		}
	}
	return ""
}

// countAddresses asks a proxy, at its address in the network of the units, how many addresses a name has.
func (u *userSite) countAddresses(ctx context.Context, proxy, name string) (int, error) {
	tunnel, err := u.through(ctx, proxy)
	if err != nil {
		return 0, err
	}
	connection := tls.Client(tunnel, u.secured)
	defer func() { _ = connection.Close() }() // the answer is in
	answer, err := request(connection, lab.ProxyCount+name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(answer)
}

const (
	// dialPatience limits how long a node may take to accept, and answerPatience a proxy to answer.
	dialPatience   = 3 * time.Second
	answerPatience = 10 * time.Second
	longestAnswer  = 512 // bytes
)

// through connects to an address in the network of the units, through the first proxy that accepts. Each node
// that is down takes up to dialPatience.
func (u *userSite) through(ctx context.Context, address string) (net.Conn, error) {
	var problems []error
	for _, proxy := range u.proxies {
		plain, err := (&net.Dialer{Timeout: dialPatience}).DialContext(ctx, "tcp", proxy)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		connection := tls.Client(plain, u.secured)
		answer, err := request(connection, lab.ProxyDial+address)
		if err == nil && answer != lab.ProxyOpen {
			err = errors.New(answer)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("through the proxy at %s: %w", proxy, err), connection.Close())
		}
		return connection, nil
	}
	return nil, fmt.Errorf("this host cannot connect to the proxy of any node: %w", errors.Join(problems...))
}

// request sends a line to a proxy and returns the line that it answers. It reads byte by byte, since the
// bytes after that line are for the caller.
func request(connection net.Conn, wanted string) (string, error) {
	if err := connection.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, wanted+"\n"); err != nil {
		return "", err
	}
	var line []byte
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

// leave removes all objects of this conductor and waits until they are gone.
func (u *userSite) leave() error {
	manager := u.manager
	u.manager = nil
	u.network = ""
	u.proxies = nil
	u.inside = nil
	if manager == nil { // nothing was made
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), leavePatience,
		fmt.Errorf("not gone after %v", leavePatience))
	defer cancel()
	if err := remove(ctx, manager, u.deployer.label); err != nil {
		return fmt.Errorf("%s* is still on the swarm %s: %w: remove it later with: %s=%s cleave clean", u.name,
			u.swarm.Name, err, Variable, u.swarm.Name)
	}
	return nil
}

// remove removes all objects of a conductor and waits until they are gone. It repeats, since a network can be
// removed only after the last task in it.
func remove(ctx context.Context, manager *engine.Client, label string) error {
	err := fleet.Until(ctx, pollInterval, func() (bool, error) {
		left, err := manager.ListSwarm(ctx, leftovers.DockerLabel)
		if err != nil {
			return true, err
		}
		left = slices.DeleteFunc(left, func(object engine.Object) bool {
			return object.Label != label || !strings.HasPrefix(object.Name, prefix+label)
		})
		for _, object := range left {
			err = errors.Join(err, manager.Remove(ctx, object.Kind, object.ID))
		}
		return len(left) == 0, err
	})
	if err != nil {
		return err
	}
	// Nodes end tasks after their service is removed.
	return fleet.Until(ctx, pollInterval, func() (bool, error) {
		tasks, err := manager.Tasks(ctx, "label", leftovers.DockerLabel+"="+label)
		if err != nil || len(tasks) == 0 {
			return true, err
		}
		return false, fmt.Errorf("%d tasks are left", len(tasks))
	})
}

// Clean removes what dead conductors have left on the swarm and returns a description for each of them. It
// keeps the objects of conductors of which this host cannot tell whether they are dead, and returns them as
// unclear. With a label it looks only at the objects of that conductor.
func (u *UserSwarm) Clean(ctx context.Context, label string) (removed, unclear []string, err error) {
	if err := u.inspect(ctx); err != nil {
		return nil, nil, err
	}
	found, err := u.manager.ListSwarm(ctx, leftovers.DockerLabel)
	if err != nil {
		return nil, nil, fmt.Errorf("the swarm %s: %w", u.Name, err)
	}
	var labels []string
	for _, object := range found {
		isWanted := label == "" || object.Label == label
		if isWanted && strings.HasPrefix(object.Name, prefix+object.Label) {
			labels = append(labels, object.Label)
		}
	}
	return leftovers.CleanCluster(ctx, labels,
		func(label string) string {
			return fmt.Sprintf("what begins with %s%s on the swarm %s", prefix, label, u.Name)
		},
		func(ctx context.Context, label string) error { return remove(ctx, u.manager, label) })
}
