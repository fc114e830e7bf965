package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// plain is the least that a platform has to write: a deployer of processes of this host, each of which leads
// a process group. They end with the conductor's side of their standard input, and what the conductor leaves
// behind that is killed nobody removes.
type plain struct{ program, label string }

// TestAPlainPlatform: all that the suite wants of a deployer is in fleet, but for this file.
func TestAPlainPlatform(t *testing.T) {
	testset.Need(t, "plays the suite of deployers")
	own, err := launch.Own()
	deploytest.Must(t, err)
	label := own.String()
	deploytest.Suite(t, plain{deploytest.Program(t), label}, func() []string {
		left := deploytest.Processes(label)
		for _, folder := range cgroup.All(cgroup.Root) {
			if folder.Label == label {
				left = append(left, folder.Path)
			}
		}
		return left
	})
}

func (p plain) Name() string { return lab.Process }

func (p plain) Can() lab.Capabilities {
	return lab.Capabilities{
		Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}}
}

func (p plain) Preflight(_ context.Context, layout lab.Layout) error {
	return errors.Join(fleet.CheckLimits(layout.Units), fleet.CheckUnpublished(layout.Units))
}

func (p plain) Deploy(ctx context.Context, layout lab.Layout, dir string) (_ lab.Deployment, err error) {
	d := &plainDeployment{plain: p, dir: dir, launcher: launch.NewLauncher(), limits: map[string]*cgroup.Group{}}
	d.Fleet = fleet.New(ctx, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), dir, fleet.Platform[*process]{
		Name: p.Name(), Faults: p.Can().Faults, AtOnce: 1, Span: lab.SpanTree,
		New: d.newProcess, Next: d.next, Clear: d.clear,
		Reach: func(unit string) string { return d.Endpoints[unit].Bind },
	})
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Stop())
		}
	}()
	if err := d.assign(slices.Concat(layout.Units, layout.Prepare)); err != nil {
		return nil, err
	}
	if err := d.Furnish(ctx, layout.Units, launch.LoopbackHost, nil); err != nil {
		return nil, err
	}
	return d, d.Begin(ctx, layout.Units, layout.Prepare)
}

type plainDeployment struct {
	*fleet.Fleet[*process]
	plain
	dir      string
	launcher *launch.Launcher
	ports    *launch.Ports
	mu       sync.Mutex
	limits   map[string]*cgroup.Group // by unit
}

// assign gives every endpoint an address.
func (d *plainDeployment) assign(units []lab.UnitSpec) (err error) {
	var names []string
	for _, spec := range units {
		names = append(names, spec.Endpoints()...)
	}
	if d.ports, err = launch.ReservePorts(len(names)); err != nil {
		return err
	}
	for i, name := range names {
		address := launch.Loopback(d.ports.Numbers[i])
		d.Endpoints[name] = lab.Endpoint{Bind: address, Dial: address}
	}
	return nil
}

// clear ends all processes.
func (d *plainDeployment) clear() error {
	var problems []error
	for _, p := range d.Everything() {
		_ = p.signal(syscall.SIGKILL) // it may have ended
		<-p.Ended
	}
	for _, limits := range d.limits {
		problems = append(problems, limits.Remove())
	}
	d.launcher.Close()
	d.ports.Close()
	return errors.Join(problems...)
}

// process is one life of a unit.
type process struct {
	*fleet.Unit
	deployment *plainDeployment
	again      bool
	limits     *cgroup.Group
}

func (d *plainDeployment) newProcess(spec lab.UnitSpec) *process {
	return &process{Unit: fleet.NewUnit(spec), deployment: d}
}

func (d *plainDeployment) next(_ context.Context, ended *process, _ bool) (*process, error) {
	next := d.newProcess(ended.Spec)
	next.again = true
	return next, nil
}

func (p *process) Start(context.Context) error {
	err := p.start()
	if err != nil && p.PID == 0 {
		close(p.Ended)
	}
	return err
}

func (p *process) start() (err error) {
	d, spec := p.deployment, p.Spec
	if !p.again {
		if err := fleet.MakeVolume(d.dir, spec, d.Endpoints); err != nil {
			return err
		}
	}
	fill, args := fleet.Fill(spec, d.dir, d.Endpoints), []string{}
	for _, arg := range spec.Args {
		args = append(args, fill.Replace(arg))
	}
	command := exec.Command(cmp.Or(spec.Program, d.program), args...)
	command.Env = append(fleet.Environment(spec, d.label, d.dir, d.Endpoints), "PATH="+os.Getenv("PATH"))
	command.Dir = cmp.Or(spec.Dir, d.Volume(spec))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if spec.Server != nil { // which has no privileges of root, and our files
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1, HostID: os.Geteuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1, HostID: os.Getegid(), Size: 1}}
	}
	command.Stderr, command.WaitDelay = p.Log, time.Second
	hear := func() {}
	if spec.Foreign || p.Prepares {
		command.Stdout = p.Log
	} else {
		said, err := command.StdoutPipe()
		if err != nil {
			return err
		}
		if p.Commands, err = command.StdinPipe(); err != nil {
			return err
		}
		hear = func() { d.Hear(p.Unit, said) }
	}
	if err := p.limit(); err != nil {
		return err
	}
	if err := d.launcher.Start(command, spec.Cores...); err != nil {
		return err
	}
	p.PID = command.Process.Pid
	p.SetHostPID(p.PID)
	go p.await(command, hear)
	if p.limits == nil {
		return nil
	}
	return p.limits.Add(p.PID)
}

// limit makes the control group of a unit that has limits.
func (p *process) limit() (err error) {
	d, spec := p.deployment, p.Spec
	if spec.Limits == (lab.Limits{}) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limits[spec.Name] == nil {
		d.limits[spec.Name], err = cgroup.Make(cgroup.Root, d.label, filepath.Base(d.dir), spec.Name, spec.Limits)
	}
	p.limits = d.limits[spec.Name]
	return err
}

// await judges the end of the process.
func (p *process) await(command *exec.Cmd, hear func()) {
	defer close(p.Ended)
	hear()
	how := command.Wait()
	if how != nil && p.limits != nil && p.limits.OutOfMemory() {
		how = errors.New(fleet.OutOfMemory(p.Spec))
	}
	p.deployment.JudgeEnd(p.Unit, how)
}

// signal signals to the process group, unless it has ended.
func (p *process) signal(signal syscall.Signal) error {
	select {
	case <-p.Ended:
		return os.ErrProcessDone
	default:
		return syscall.Kill(-p.PID, signal) // its number is known: Start has returned
	}
}

func (p *process) Kill(context.Context) (proof string, err error) {
	return "its process group was killed", p.signal(syscall.SIGKILL)
}

func (p *process) Pause(ctx context.Context) (proof string, err error) {
	err = p.signal(syscall.SIGSTOP)
	for err == nil && proof == "" {
		text, failed := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		if _, state, _ := bytes.Cut(text, []byte(") ")); bytes.HasPrefix(state, []byte("T")) {
			proof = "it is stopped"
		}
		err = errors.Join(failed, ctx.Err())
	}
	return proof, err
}

func (p *process) Resume(context.Context) error { return p.signal(syscall.SIGCONT) }

func (p *process) End(context.Context) error { return p.signal(syscall.SIGTERM) }
