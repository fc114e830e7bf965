package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// homeLife is the life of a service on a swarm of the user's.
type homeLife struct {
	fleet.StarterLife
	*room
	trial   *homeTrial
	service *service
}

// room holds what the swarm has of a unit, in all its lives.
type room struct {
	secrets []engine.Kept
	task    string // its ID; "" until it is made
	reading sync.Mutex
	read    engine.LogMark
}

func (t *homeTrial) newSiteLife(s *service) siteLife {
	return t.lifeIn(s, &room{}, fleet.NewStarter(s.Spec, func(ctx context.Context) (net.Conn, error) {
		return t.home.through(ctx, inOverlay(s.Spec.Name, starterPort))
	}))
}

// lifeIn begins a life of a unit in what the swarm has of it.
func (t *homeTrial) lifeIn(s *service, of *room, starter *fleet.Starter) *homeLife {
	l := &homeLife{StarterLife: starter.Life(t.Watching), room: of, trial: t, service: s}
	s.ReadLog, s.Healthy = l.readLog, l.awaitHealthy
	return l
}

const (
	// pullPatience is how long a service may take until its unit can be reached, where its node
	// has to pull the image, and its server is prepared before it.
	pullPatience = 5 * time.Minute
	// maxSecret is how much a secret of Swarm can hold, in bytes.
	maxSecret = 500 << 10
)

// prepare has the container run the starter, with its orders in a secret. The starter begins as root, with
// what it takes to become somebody else. A container of the user's image is as that says.
func (l *homeLife) prepare(ctx context.Context, is *containers.Container) ([]engine.SecretFile, error) {
	s := l.service
	if s.Spec.Container != nil {
		return l.bring(ctx, is)
	}
	orders, err := l.orders(*is)
	if err != nil {
		return nil, err
	}
	is.ContainerSpec = lab.ContainerSpec{ReadOnly: true,
		Entrypoint: []string{"/" + lab.StarterProgram, lab.StarterRuns},
		CapDrop:    []string{"ALL"}, CapAdd: []string{"CHOWN", "SETUID", "SETGID", "KILL", "DAC_OVERRIDE"},
		Mounts: []lab.ContainerMount{{Kind: lab.MountMemory, Target: "/tmp"},
			{Kind: lab.MountVolume, Target: fleet.Volume(l.trial.trial.Dir, s.Spec)}}}
	secret, err := l.secret(ctx, s.made.Name, lab.StarterOrdersFile, orders)
	return []engine.SecretFile{secret}, err
}

// secret has the swarm keep a file of the container, which root may read there.
func (l *homeLife) secret(ctx context.Context, name, file string, data []byte) (engine.SecretFile, error) {
	id, err := l.trial.manager.MakeSecret(ctx, name, l.trial.deployer.labels(), data)
	if err == nil {
		l.secrets = append(l.secrets, engine.Kept{Kind: "secret", ID: id, Name: name})
	}
	return engine.Secret(id, name, file, "0"), err
}

// bring gives the container what it has of this host: folders in memory, and files that everybody may read
// there. Its volumes are its own.
func (l *homeLife) bring(ctx context.Context, is *containers.Container) ([]engine.SecretFile, error) {
	var files []engine.SecretFile
	brought, err := containers.Bring(l.service.Spec)
	if err != nil {
		return nil, err
	}
	for _, one := range brought {
		if one.Folder {
			is.Mounts = append(is.Mounts, lab.ContainerMount{Kind: lab.MountMemory, Target: one.Path})
			continue
		}
		if len(one.Data) == 0 {
			one.Data = []byte("\n") // Swarm keeps no empty secrets
		}
		name := fmt.Sprintf("%s-file-%d", l.trial.home.name, l.trial.deployer.services.Add(1))
		file, err := l.secret(ctx, name, one.Path, one.Data)
		if err != nil {
			return nil, err
		}
		file.File.Mode = 0o444
		if one.Executable {
			file.File.Mode = 0o555
		}
		files = append(files, file)
	}
	return files, nil
}

// awaitHealthy waits until a port of the container says that it is healthy. To the swarm a task with another
// health check does not run before.
func (l *homeLife) awaitHealthy(ctx context.Context) error {
	check := l.service.Spec.Container.Health
	if check == nil || check.Port == 0 {
		return nil
	}
	return fleet.AwaitVisit(ctx, l.service.Unit, l.trial.reach(l.service.Spec.Name), fleet.PortVisit(check))
}

// orders returns the orders of the starter, with what is in the unit's folder here.
func (l *homeLife) orders(is containers.Container) ([]byte, error) {
	spec, trial := l.service.Spec, l.trial.trialOf(l.service.Spec)
	volume := fleet.Volume(trial.Dir, spec)
	orders := lab.StarterOrders{Volume: volume, User: nobody, Run: is.Entrypoint, Dir: cmp.Or(is.Dir, volume),
		Faults: l.Orders(anyAddress(starterPort))}
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
	var err error
	if orders.Files, err = fleet.VolumeFiles(volume); err != nil {
		return nil, err
	}
	return containers.Packed(orders, maxSecret)
}

func (l *homeLife) take(_ context.Context, task engine.Task) bool {
	runs := task.Status.State == "running" || over(task)
	if runs {
		l.task = task.ID
	}
	return runs
}

func (l *homeLife) taken(context.Context) error { return nil }

// dial connects to the unit, as its conductor, unless its program ends before.
func (l *homeLife) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if how, err := l.howEnded(ctx); err == nil {
			cancel(fmt.Errorf("its program ended: %w", cmp.Or(how, errors.New("exit status 0"))))
		}
	}()
	return fleet.DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		return l.trial.home.through(ctx, inOverlay(l.service.Spec.Name, controlPort))
	}, l.service.token)
}

// connected waits until a server accepts, or has ended. Before that a door takes connections that
// lead nowhere, of which clients complain.
func (l *homeLife) connected(ctx context.Context) {
	if l.service.Spec.Server == nil || l.service.Further {
		return
	}
	ctx, cancel := fleet.WithEnd(ctx, l.service.Ended, func() error { return errors.New("it has ended") })
	defer cancel()
	_ = fleet.Until(ctx, lookAgain, func() (bool, error) { // whoever waits for the server hears of its end
		connection, err := l.trial.home.through(ctx, l.trial.trial.Endpoints[l.service.Spec.Name].Dial)
		if err == nil {
			_ = connection.Close() // nothing was said
		}
		return err == nil, err
	})
}

// howEnded waits for the end of the program and says how it was; nil: well. err is set where
// nobody waits any more.
func (l *homeLife) howEnded(ctx context.Context) (how, err error) {
	for {
		task, known, down, changed := l.trial.cache.latest(l.service.id)
		code := task.Status.ContainerStatus.ExitCode
		switch {
		case !known && l.task != "":
			return errors.New("somebody has removed its service"), nil
		case known && down && !over(task):
			return errors.New("its node " + l.trial.home.nodeName(task.NodeID) +
				" does not answer to the swarm any more"), nil
		case known && over(task) && code == lab.StarterOutOfMemory:
			return errors.New(fleet.OutOfMemory(l.service.Spec)), nil
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

// awaitEnd waits until the program ends, and no fault or the deployment has ended it.
func (l *homeLife) awaitEnd() (how error, ended bool) {
	how, err := l.howEnded(l.Lives)
	if err != nil {
		return nil, false
	}
	l.readLog(l.trial.Watching)
	return how, true
}

// readLog reads what is new in the log. Where the swarm does not bring it, it stays as it was.
func (l *homeLife) readLog(ctx context.Context) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.task != "" {
		_ = l.trial.manager.TaskLog(ctx, l.task, &l.read, l.service.Log) // what it brought is there
	}
}

// startAgain has the starter begin the program again.
func (l *homeLife) startAgain(ctx context.Context) error {
	s := l.service
	return l.Again(ctx, s.Unit, s.connect, l.trial.trial.Endpoints[s.Spec.Name].Bind)
}

func (l *homeLife) End(ctx context.Context) error {
	return l.trial.manager.RemoveService(ctx, l.service.id)
}

// removed removes the secrets.
func (l *homeLife) removed(ctx context.Context) error {
	var problems []error
	for _, secret := range l.secrets {
		problems = append(problems, l.trial.manager.RemoveKept(ctx, secret))
	}
	return errors.Join(problems...)
}
