package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// upPatience is how long a container may take until its unit can be reached: most of it
// is the daemon's.
const upPatience = 60 * time.Second

// container is one unit.
type container struct {
	*supervise.Unit
	deployment *deployment
	prepares   bool // it is a command that runs before the units
	id         string
	hostPID    int           // of its first process, as this host numbers it
	followed   chan struct{} // closed when its log was read to the end
	outcome    error         // how it ended; read after Ended is closed
	paused     bool          // by a fault, and not healed yet
	removed    bool
}

func (d *deployment) newContainer(spec lab.UnitSpec) *container {
	return &container{Unit: supervise.NewUnit(spec), deployment: d, followed: make(chan struct{})}
}

// name is unlike that of any other trial's.
func (d *deployment) name(of string) string {
	return "cleave-" + d.deployer.label + "-" + strings.ToLower(filepath.Base(d.dir)) + "-" + of
}

// start runs the container and connects to its unit.
func (c *container) start(ctx context.Context) error {
	d := c.deployment
	err := supervise.MakeVolume(d.dir, c.Spec, d.endpoints)
	if err == nil && c.Spec.Server != nil {
		err = giveTo(d.volume(c.Spec))
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	token, err := c.run(ctx)
	if err != nil {
		return fmt.Errorf("start unit %s: %w", c.Spec.Name, err)
	}
	if c.Spec.Foreign || c.prepares {
		go c.await()
		return nil
	}
	connection, err := supervise.Dial(ctx, d.control[c.Spec.Name], token)
	if err != nil {
		return fmt.Errorf("start unit %s: %w%s", c.Spec.Name, err, c.Log.LastWords())
	}
	c.Commands = connection
	go func() {
		d.Hear(c.Unit, connection)
		_ = connection.Close() // the unit has closed its side
		c.await()
	}()
	return nil
}

// run starts the container and finds its process.
func (c *container) run(ctx context.Context) (token string, err error) {
	args, token, err := c.arguments()
	if err != nil {
		return "", err
	}
	if c.id, err = making(ctx, args...); err != nil {
		return "", err
	}
	if err := c.follow(); err != nil {
		return "", err
	}
	pid, err := docker(ctx, "inspect", "--format", "{{.State.Pid}}", c.id)
	if err != nil {
		return "", err
	}
	c.hostPID, err = strconv.Atoi(pid)
	return token, err
}

// arguments are those of docker run. Nothing secret is among them: they can be read
// by whoever may list processes or containers.
func (c *container) arguments() (args []string, token string, err error) {
	d, spec := c.deployment, c.Spec
	volume := d.volume(spec)
	args = []string{
		"run", "--detach", "--name", d.name(spec.Name), "--label", leftovers.DockerLabel + "=" + d.deployer.label,
		"--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE", "--security-opt", "no-new-privileges",
		"--volume", volume + ":" + volume,
	}
	if d.memory != "" {
		args = append(args, "--volume", d.memory+":"+d.memory)
	}
	for _, folder := range spec.Mounts {
		args = append(args, "--volume", folder+":"+folder)
	}
	args = append(args, d.networkOf(spec)...)
	args = append(args, limitsOf(spec.Limits)...)
	if spec.Server != nil {
		uid, gid := serverUser()
		args = append(args, "--user", fmt.Sprintf("%d:%d", uid, gid))
	}
	if len(spec.Cores) > 0 {
		args = append(args, "--cpuset-cpus", coreList(spec.Cores))
	}
	if spec.Foreign {
		foreign, err := c.foreign()
		return append(args, foreign...), "", err
	}
	path, token, err := d.writeEnvironment(spec, !c.prepares)
	if err != nil {
		return nil, "", err
	}
	args = append(args, "--env", lab.EnvironmentVariable+"="+path, d.image, programInImage)
	for _, argument := range spec.Args {
		args = append(args, strings.ReplaceAll(argument, "{dir}", volume))
	}
	return args, token, nil
}

// foreign are the last arguments of docker run for a program of this host, whose
// libraries come with its /usr.
func (c *container) foreign() ([]string, error) {
	d, spec := c.deployment, c.Spec
	dir := spec.Dir
	if dir == "" {
		dir = d.volume(spec)
	}
	fill := supervise.Fill(spec, d.dir, d.endpoints)
	args := []string{"--volume", "/usr:/usr:ro", "--volume", "/etc:/etc:ro", "--workdir", dir}
	for name, value := range d.environment(spec) {
		args = append(args, "--env", name+"="+value)
	}
	program := programInImage
	if spec.Program != "" {
		var err error
		if program, err = programOf(spec); err != nil {
			return nil, err
		}
	}
	args = append(args, d.image, program)
	for _, argument := range spec.Args {
		args = append(args, fill.Replace(argument))
	}
	return args, nil
}

// programOf is the path of a program of this host. Containers have its /usr, and so
// the libraries that it needs; what lies elsewhere would be there without them.
func programOf(spec lab.UnitSpec) (string, error) {
	path, err := exec.LookPath(spec.Program)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	switch {
	case err != nil && spec.Install != "":
		return "", fmt.Errorf("there is no program %q here: type: %s", spec.Program, spec.Install)
	case err != nil:
		return "", fmt.Errorf("there is no program %q here: install it, or give its path: %w", spec.Program, err)
	case !slices.ContainsFunc(append([]string{"/usr"}, spec.Mounts...), func(folder string) bool {
		return strings.HasPrefix(path, folder+"/")
	}):
		return "", fmt.Errorf("the program %s is not below /usr, which is what containers have of this host: deploy it as a process, or as a compose file", path)
	}
	return path, nil
}

// limitsOf are the arguments of docker run that limit a container. What is beyond its
// memory is not swapped out but refused.
func limitsOf(limits lab.Limits) []string {
	var args []string
	if limits.CPU > 0 {
		args = append(args, "--cpus", strconv.FormatFloat(limits.CPU, 'g', -1, 64))
	}
	if limits.Memory > 0 {
		bytes := strconv.FormatInt(limits.Memory, 10)
		args = append(args, "--memory", bytes, "--memory-swap", bytes)
	}
	return args
}

func coreList(cores []int) string {
	var words []string
	for _, core := range cores {
		words = append(words, strconv.Itoa(core))
	}
	return strings.Join(words, ",")
}

// follow reads the container's log until its end.
func (c *container) follow() error {
	command := exec.Command("docker", "logs", "--follow", c.id)
	command.Stdout, command.Stderr = c.Log, c.Log
	if err := command.Start(); err != nil {
		return err
	}
	go func() {
		defer close(c.followed)
		_ = command.Wait() // the log ends with the container, or with the daemon
		if gone := Missing(); gone != nil {
			c.deployment.Fail(fmt.Errorf("the Docker daemon has ended: %w", gone))
		}
	}()
	return nil
}

// await waits for the end of the container and judges it.
func (c *container) await() {
	defer close(c.Ended)
	code, err := docker(context.Background(), "wait", c.id)
	<-c.followed
	switch {
	case err != nil: // the daemon has ended, or somebody has removed the container
	case code == "0":
	case c.outOfMemory():
		err = errors.New(supervise.OutOfMemory(c.Spec))
	default:
		err = fmt.Errorf("exit status %s", code)
	}
	c.outcome = err
	switch {
	case c.prepares:
	case c.Spec.Foreign && err != nil:
		c.deployment.JudgeForeign(c.Unit, "ended: "+err.Error())
	case c.Spec.Foreign:
		c.deployment.JudgeForeign(c.Unit, "")
	default:
		c.deployment.Judge(c.Unit, err)
	}
}

// outOfMemory reports whether the kernel has ended the container at its limit.
func (c *container) outOfMemory() bool {
	state, err := docker(context.Background(), "inspect", "--format", "{{.State.OOMKilled}}", c.id)
	return err == nil && state == "true"
}

// remove ends the container, whatever state it is in, and removes it.
func (c *container) remove() error {
	if c.id == "" || c.removed {
		return nil
	}
	_ = c.deployment.Doom(c.Unit)               // it may have ended
	if c.Spec.Foreign && c.Spec.Server == nil { // it may have something to put in order
		_, _ = docker(context.Background(), "stop", "--time", stopSeconds, c.id)
	}
	_, err := docker(context.Background(), "rm", "--force", "--volumes", c.id)
	c.removed = err == nil
	return err
}

// stopSeconds is how long a foreign program has between SIGTERM and SIGKILL.
const stopSeconds = "10"

// prepare runs a command of the layout to its end; where there is a visit to be made,
// until that has succeeded.
func (d *deployment) prepare(ctx context.Context, spec lab.UnitSpec, visit func(ctx context.Context, address string) error) error {
	c := d.newContainer(spec)
	c.prepares = true
	d.addPrepared(c)
	if err := c.start(ctx); err != nil {
		return err
	}
	if visit != nil {
		err := supervise.AwaitVisit(ctx, c.Unit, d.endpoints[spec.Name].Dial, visit)
		if err == nil {
			_, err = docker(ctx, "stop", "--time", stopSeconds, c.id)
		}
		return errors.Join(err, c.remove())
	}
	if err := c.AwaitEnd(ctx); err != nil {
		return err
	}
	if c.outcome != nil {
		return fmt.Errorf("%s: %w%s", spec.Name, c.outcome, c.Log.LastWords())
	}
	return c.remove()
}
