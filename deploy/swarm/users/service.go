package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// pullPatience is how long a service may take until its unit can be reached, where its node
	// has to pull the image, and its server is prepared before it.
	pullPatience = 5 * time.Minute
	// stopGrace is how long a program has between SIGTERM and SIGKILL: foreign ones may have
	// something to put in order.
	stopGrace, foreignGrace = time.Second, 10 * time.Second
	// maxSecret is how much a secret of Swarm can hold, in bytes.
	maxSecret = 500 << 10
)

// service is the life of a unit.
type service struct {
	*fleet.Unit
	*hosted
	deployment *deployment
	lives      context.Context // until a fault ends it, or the deployment
	over       context.CancelFunc
	again      bool // the starter begins it in the container of its former life
}

// hosted is what the swarm has of a unit, in all its lives.
type hosted struct {
	id, secret string // "" until they are made
	name       string
	task       string // its ID
	token      string
	starter    *fleet.Starter
	reading    sync.Mutex
	read       engine.LogMark
}

// Start implements fleet.Instance.
func (s *service) Start(ctx context.Context) error {
	d := s.deployment
	if s.again { // by the starter
		return s.starter.Again(ctx, s.Unit, s.connect, d.trial.Endpoints[s.Spec.Name].Bind)
	}
	if err := fleet.MakeVolume(d.trial.Dir, s.Spec, d.trial.Endpoints); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pullPatience, fmt.Errorf("not up after %v", pullPatience))
	defer cancel()
	err := s.create(ctx)
	if err == nil {
		err = s.awaitTask(ctx)
	}
	if err != nil {
		return fmt.Errorf("start unit %s: %w", s.Spec.Name, err)
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if s.Spec.Server != nil {
		s.awaitServer(ctx)
	}
	return nil
}

// connect connects to the unit of a service that runs.
func (s *service) connect(ctx context.Context) error {
	d := s.deployment
	if s.Spec.Foreign || s.Prepares {
		go s.await()
		return nil
	}
	connection, err := s.dial(ctx)
	if err != nil {
		s.readLog(d.Watching)
		return fmt.Errorf("start unit %s: %w%s", s.Spec.Name, err, s.Log.LastWords())
	}
	d.Controlled(s.Unit, connection, s.await)
	return nil
}

// dial connects to the unit, as its conductor, unless its program ends before.
func (s *service) dial(ctx context.Context) (net.Conn, error) {
	d := s.deployment
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if how, err := s.awaitEnd(ctx); err == nil {
			cancel(fmt.Errorf("its program ended: %w", cmp.Or(how, errors.New("exit status 0"))))
		}
	}()
	return fleet.DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		return d.home.through(ctx, net.JoinHostPort(s.Spec.Name, strconv.Itoa(doorPort)))
	}, s.token)
}

// awaitServer waits until a server accepts, or has ended. Before that a door takes connections that
// lead nowhere, of which clients complain.
func (s *service) awaitServer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pullPatience)
	defer cancel()
	for {
		connection, err := s.deployment.home.through(ctx, s.deployment.trial.Endpoints[s.Spec.Name].Dial)
		if err == nil {
			_ = connection.Close() // nothing was said
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.Ended:
			return
		case <-time.After(lookAgain):
		}
	}
}

// create has the swarm run the service.
func (s *service) create(ctx context.Context) error {
	d := s.deployment
	orders, err := s.orders()
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is not given up in the middle, or nobody would know what was made
	const longest = 63               // names of Swarm
	s.name = fmt.Sprintf("%s-%d-%s", d.home.name, d.deployer.services.Add(1), s.Spec.Name)
	s.name = s.name[:min(len(s.name), longest)]
	if s.secret, err = d.home.manager.MakeSecret(ctx, s.name, d.home.labels(), orders); err != nil {
		return err
	}
	s.id, err = d.home.manager.CreateService(ctx, s.description())
	return err
}

// description returns what the service is made of. Nothing secret is in it: it can be read by
// whoever may ask the swarm. The starter begins as root, with what it takes to become somebody
// else.
func (s *service) description() engine.Service {
	d, spec := s.deployment, s.Spec
	grace := stopGrace
	if spec.Foreign && spec.Server == nil {
		grace = foreignGrace
	}
	made := engine.Service{
		Name: s.name, Labels: d.home.labels(),
		TaskTemplate: engine.TaskTemplate{
			ContainerSpec: engine.ServiceContainer{
				Image: d.deployer.images[d.deployer.programOf(spec)], Labels: d.home.labels(), ReadOnly: true,
				Command: []string{"/" + lab.StarterProgram, lab.StarterRuns}, Init: new(bool), // the starter is the first
				Mounts: []engine.Mount{{Type: "tmpfs", Target: "/tmp"},
					{Type: "volume", Target: fleet.Volume(d.trial.Dir, spec)}},
				Secrets:        []engine.SecretFile{engine.Secret(s.secret, s.name, lab.StarterOrdersFile, "0")},
				CapabilityDrop: []string{"ALL"}, CapabilityAdd: []string{"CHOWN", "SETUID", "SETGID", "KILL",
					"DAC_OVERRIDE"}, StopGracePeriod: grace,
				// A name that the node does not know yet is asked for outside, where nobody answers: by default for 5 s.
				DNSConfig: engine.DNSConfig{Options: []string{"timeout:1", "attempts:1"}},
			},
			RestartPolicy: engine.RestartPolicy{Condition: "none"}, LogDriver: engine.LogDriver{Name: "json-file"},
			Networks: []engine.ServiceNetwork{{Target: d.home.network, Aliases: []string{spec.Name}}},
			Resources: engine.Resources{Limits: engine.ResourceLimits{
				NanoCPUs: int64(math.Round(spec.Limits.CPU * 1e9)), MemoryBytes: spec.Limits.Memory}},
		},
		Mode:         engine.ServiceMode{Replicated: &engine.Replicated{Replicas: 1}},
		EndpointSpec: engine.EndpointSpec{Mode: "dnsrr"},
	}
	if spec.Node != "" {
		made.TaskTemplate.Placement = engine.Placement{Constraints: []string{"node.hostname==" + spec.Node}}
	}
	return made
}

// orders returns the orders of the starter, with what is in the unit's folder here.
func (s *service) orders() ([]byte, error) {
	spec, trial := s.Spec, s.deployment.trialOf(s.Spec)
	volume := fleet.Volume(trial.Dir, spec)
	orders := lab.StarterOrders{Volume: volume, User: nobody,
		Faults: s.starter.Orders(anyone(starterPort))}
	control := ""
	if !s.Prepares {
		control = anyone(doorPort)
	}
	is, err := trial.Describe(spec, control)
	if err != nil {
		return nil, err
	}
	s.token, orders.Run, orders.Dir = is.Token, is.Entrypoint, cmp.Or(is.Dir, volume)
	// by which processes are found that end with their conductor, on this host
	orders.Env = slices.DeleteFunc(is.Env, func(v string) bool { return strings.HasPrefix(v, "CLEAVE_RUN=") })
	if spec.Server != nil {
		for _, setup := range spec.Server.Setup {
			preparing := spec
			preparing.Program, preparing.Args = setup.Program, setup.Args
			words, err := trial.Command(preparing)
			if err != nil {
				return nil, err
			}
			orders.Setups = append(orders.Setups, words)
		}
	}
	err = filepath.WalkDir(volume, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == volume {
			return err
		}
		file := lab.StarterFile{Path: path, Folder: entry.IsDir()}
		if !file.Folder {
			file.Data, err = os.ReadFile(path)
		}
		orders.Files = append(orders.Files, file)
		return err
	})
	if err != nil {
		return nil, err
	}
	return containers.Packed(orders, maxSecret)
}

// anyone returns what is bound to where everybody in the network of the units may call.
func anyone(port int) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) }

// awaitTask waits until the program runs, or has run. It fails where it never will.
func (s *service) awaitTask(ctx context.Context) error {
	for {
		task, known, _, changed := s.deployment.news.latest(s.id)
		began := task.Status.ContainerStatus.ContainerID != "" && task.Status.State != "rejected"
		switch {
		case known && (task.Status.State == "running" || over(task) && began):
			s.task = task.ID
			return nil
		case known && over(task):
			return fmt.Errorf("the swarm could not run it: %w", advised(task))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the swarm says: %w", context.Cause(ctx), advised(task))
		case <-changed:
		}
	}
}

// awaitEnd waits for the end of the program and says how it was; nil: well. err is set where
// nobody waits any more.
func (s *service) awaitEnd(ctx context.Context) (how, err error) {
	for {
		task, known, down, changed := s.deployment.news.latest(s.id)
		code := task.Status.ContainerStatus.ExitCode
		switch {
		case !known && s.task != "":
			return errors.New("somebody has removed its service"), nil
		case known && down && !over(task):
			return errors.New("its node " + s.deployment.home.nodeName(task.NodeID) +
				" does not answer to the swarm any more"), nil
		case known && over(task) && code == lab.StarterOutOfMemory:
			return errors.New(fleet.OutOfMemory(s.Spec)), nil
		case known && over(task) && code != 0:
			return fmt.Errorf("exit status %d", code), nil
		case known && over(task) && task.Status.State != "complete" && task.Status.Err != "":
			return errors.New(task.Status.Err), nil
		case known && over(task):
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		}
	}
}

// await waits for the end of the program and judges it.
func (s *service) await() {
	defer close(s.Ended)
	d := s.deployment
	how, err := s.awaitEnd(s.lives)
	if err != nil { // a fault has ended it, or the deployment
		return
	}
	s.readLog(d.Watching)
	d.JudgeEnd(s.Unit, how)
}

// readLog reads what is new in the log. Where the swarm does not bring it, it stays as it was.
func (s *service) readLog(ctx context.Context) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.task != "" {
		_ = s.deployment.home.manager.TaskLog(ctx, s.task, &s.read, s.Log) // what it brought is there
	}
}

// remove ends and removes the service with its secret.
func (s *service) remove(ctx context.Context) error {
	_ = s.deployment.Doom(s.Unit) // it may have ended
	manager := s.deployment.home.manager
	var err error
	if s.id != "" {
		err = manager.RemoveService(ctx, s.id)
	}
	if s.secret != "" {
		err = errors.Join(err, manager.RemoveKept(ctx, engine.Kept{Kind: "secret", ID: s.secret, Name: s.name}))
	}
	return err
}
