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

// userLife is one life of a service on a swarm of the user's. Its starter does the faults.
type userLife struct {
	fleet.StarterLife
	*userTask
	trial   *userTrial
	service *service
}

// userTask is the only task of a service: all lives of the unit share its container.
type userTask struct {
	secrets []string   // IDs of those that were made for the service
	task    string     // ID of the task; "" until it runs
	reading sync.Mutex // guards read
	read    engine.LogMark
}

// newSiteLife implements siteTrial.
func (t *userTrial) newSiteLife(s *service) siteLife {
	starter := fleet.NewStarter(s.Spec, func(ctx context.Context) (net.Conn, error) {
		return t.site.through(ctx, inOverlay(s.Spec.Name, containers.StarterPort))
	})
	return t.lifeIn(s, &userTask{}, starter)
}

// lifeIn returns a life of a unit in a task.
func (t *userTrial) lifeIn(s *service, in *userTask, starter *fleet.Starter) *userLife {
	l := &userLife{StarterLife: starter.Life(t.Watching), userTask: in, trial: t, service: s}
	s.ReadLog = l.readLog
	s.Healthy = l.awaitHealthy
	return l
}

const (
	// pullPatience limits how long a service may take until its unit can be reached. Its node may have to
	// pull the image, and its starter may have to set up a server.
	pullPatience = 5 * time.Minute
	// maxSecret is the largest size of a Swarm secret, in bytes.
	maxSecret = 500 << 10
)

// prepare lets the container run the starter, with its orders in a secret. The starter begins as root, with
// the capabilities to change its user and to signal others. A described container of the user's has no
// starter.
func (l *userLife) prepare(ctx context.Context, wanted *containers.Container) ([]engine.SecretFile, error) {
	s := l.service
	if s.Spec.Container != nil {
		return l.giveMounts(ctx, wanted)
	}
	orders, err := l.orders(*wanted)
	if err != nil {
		return nil, err
	}
	wanted.ContainerSpec = lab.ContainerSpec{ReadOnly: true,
		Entrypoint: []string{"/" + lab.StarterProgram, lab.StarterRuns},
		CapDrop:    []string{"ALL"}, CapAdd: []string{"CHOWN", "SETUID", "SETGID", "KILL", "DAC_OVERRIDE"},
		Mounts: []lab.ContainerMount{{Kind: lab.MountMemory, Target: "/tmp"},
			{Kind: lab.MountVolume, Target: fleet.Volume(l.trial.trial.Dir, s.Spec)}}}
	secret, err := l.secret(ctx, s.made.Name, lab.StarterOrdersFile, orders)
	return []engine.SecretFile{secret}, err
}

// secret makes a secret of the swarm that is a file of the container, readable by root.
func (l *userLife) secret(ctx context.Context, name, file string, data []byte) (engine.SecretFile, error) {
	id, err := l.trial.manager.MakeSecret(ctx, name, l.trial.deployer.labels(), data)
	if err == nil {
		l.secrets = append(l.secrets, id)
	}
	return engine.Secret(id, name, file, "0"), err
}

// giveMounts gives a described container copies of the folders and files of this host that it mounts. Folders
// are in memory, empty at first; their files are secrets in them, and every user of the container may read
// them.
func (l *userLife) giveMounts(
	ctx context.Context, wanted *containers.Container,
) (files []engine.SecretFile, err error) {
	copies, err := containers.CopyMounts(l.service.Spec)
	if err != nil {
		return nil, err
	}
	for _, one := range copies {
		if one.Folder {
			wanted.Mounts = append(wanted.Mounts, lab.ContainerMount{Kind: lab.MountMemory, Target: one.Path})
			continue
		}
		if len(one.Data) == 0 {
			one.Data = []byte("\n") // Swarm refuses empty secrets
		}
		name := fmt.Sprintf("%s-file-%d", l.trial.site.name, l.trial.deployer.services.Add(1))
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

// awaitHealthy waits until a health check of a port succeeds. It need not wait for other health checks: Swarm
// calls a task "running" only when they have succeeded.
func (l *userLife) awaitHealthy(ctx context.Context) error {
	check := l.service.Spec.Container.Health
	if check == nil || check.Port == 0 {
		return nil
	}
	return fleet.AwaitVisit(ctx, l.service.Unit, l.trial.reach(l.service.Spec.Name), fleet.PortVisit(check))
}

// orders returns the orders of the starter, packed for a secret, with the files of the unit's folder.
func (l *userLife) orders(wanted containers.Container) ([]byte, error) {
	spec := l.service.Spec
	trial := l.trial.trialOf(l.service.Spec)
	volume := fleet.Volume(trial.Dir, spec)
	orders := lab.StarterOrders{Volume: volume, User: containers.Nobody, Run: wanted.Entrypoint,
		Dir: cmp.Or(wanted.Dir, volume), Faults: l.FaultSettings(containers.AnyAddress(containers.StarterPort))}
	// CLEAVE_RUN marks processes of this host that must end with their conductor.
	orders.Env = slices.DeleteFunc(wanted.Env,
		func(variable string) bool { return strings.HasPrefix(variable, "CLEAVE_RUN=") })
	if spec.Server != nil {
		for _, setup := range spec.Server.Setup {
			preparing := spec
			preparing.Program = setup.Program
			preparing.Args = setup.Args
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

// adopt implements siteLife.
func (l *userLife) adopt(_ context.Context, task engine.Task) bool {
	runs := task.Status.State == "running" || hasEnded(task)
	if runs {
		l.task = task.ID
	}
	return runs
}

// follow implements siteLife: the task cache follows the task.
func (l *userLife) follow(context.Context) error { return nil }

// dial connects to the unit, as its conductor, unless its program ends before.
func (l *userLife) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if how, err := l.howEnded(ctx); err == nil {
			how = cmp.Or(how, errors.New("exit status 0"))
			cancel(fmt.Errorf("its program ended: %w", how))
		}
	}()
	return fleet.DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		return l.trial.site.through(ctx, inOverlay(l.service.Spec.Name, containers.ControlPort))
	}, l.service.token)
}

// awaitReachable waits until a server accepts connections, or has ended. Before that, this host's forward
// accepts connections and then drops them, which clients would report.
func (l *userLife) awaitReachable(ctx context.Context) {
	if l.service.Spec.Server == nil || l.service.Further {
		return
	}
	ctx, cancel := fleet.WithEnd(ctx, l.service.Ended, func() error { return errors.New("it has ended") })
	defer cancel()
	_ = fleet.Until(ctx, pollInterval, func() (bool, error) { // the readiness check reports failures
		connection, err := l.trial.site.through(ctx, l.trial.trial.Endpoints[l.service.Spec.Name].Dial)
		if err == nil {
			_ = connection.Close() // nothing was said
		}
		return err == nil, err
	})
}

// howEnded waits until the program ends. how is its error, or nil if it succeeded; err is set if ctx ended
// first.
func (l *userLife) howEnded(ctx context.Context) (how, err error) {
	cache := l.trial.cache
	err = cache.Await(ctx, func() (ended bool, _ error) {
		task, known := cache.tasks[l.service.id]
		code := task.Status.ContainerStatus.ExitCode
		switch {
		case !known && l.task != "":
			how = errors.New("somebody has removed its service")
		case !known:
			return false, nil
		case !hasEnded(task) && cache.down[task.NodeID]:
			how = errors.New("its node " + l.trial.site.nodeName(task.NodeID) +
				" does not answer to the swarm any more")
		case !hasEnded(task):
			return false, nil
		case code == lab.StarterOutOfMemory:
			how = errors.New(fleet.OutOfMemory(l.service.Spec))
		case code != 0:
			how = fmt.Errorf("exit status %d", code)
		case task.Status.State != "complete" && task.Status.Err != "":
			how = errors.New(task.Status.Err)
		}
		return true, nil
	})
	return how, err
}

// awaitEnd implements siteLife. ended is false if a fault or the deployment has ended this life.
func (l *userLife) awaitEnd() (how error, ended bool) {
	how, err := l.howEnded(l.Lives)
	if err != nil {
		return nil, false
	}
	l.readLog(l.trial.Watching)
	return how, true
}

// readLog appends the new part of the task's log to the unit's. Errors are ignored: what was read stays.
func (l *userLife) readLog(ctx context.Context) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.task != "" {
		_ = l.trial.manager.TaskLog(ctx, l.task, &l.read, l.service.Log)
	}
}

// startAgain lets the starter start the program again.
func (l *userLife) startAgain(ctx context.Context) error {
	s := l.service
	return l.Again(ctx, s.Unit, s.connect, l.trial.trial.Endpoints[s.Spec.Name].Bind)
}

// End implements fleet.Instance: the removal of a service sends SIGTERM to its program.
func (l *userLife) End(ctx context.Context) error {
	return l.trial.manager.Remove(ctx, "service", l.service.id)
}

// cleanUp removes the secrets.
func (l *userLife) cleanUp(ctx context.Context) error {
	var problems []error
	for _, id := range l.secrets {
		problems = append(problems, l.trial.manager.Remove(ctx, "secret", id))
	}
	return errors.Join(problems...)
}
