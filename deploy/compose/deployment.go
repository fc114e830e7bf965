package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/lab"
)

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*container]
	deployer *Deployer
	project  *project
	engine   *engine.Client

	prepared map[string]string // logs of the commands that prepared the trial, by their names
}

// Labels of the compose command.
const (
	labelProject = "com.docker.compose.project"
	labelService = "com.docker.compose.service"
	labelNumber  = "com.docker.compose.container-number"
)

// prepare runs commands to their ends, in a folder of their own. They run before the services, so
// that these find the results.
func (d *deployment) prepare(ctx context.Context, commands []lab.UnitSpec) error {
	if len(commands) == 0 {
		return nil
	}
	dir := filepath.Join(d.project.dir, "prepared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("prepare the trial: %w", err)
	}
	deployed, err := d.deployer.processes.Deploy(ctx, lab.Layout{Prepare: commands}, dir)
	if err != nil {
		return err
	}
	d.prepared = deployed.Logs()
	return deployed.Stop()
}

// adopt makes units of the project's containers, and fails if one has failed by now or none runs.
func (d *deployment) adopt(ctx context.Context) error {
	found, err := d.engine.Containers(ctx, labelProject+"="+d.project.name())
	if err != nil {
		return err
	}
	var ids []string
	seen := map[string]engine.Inspection{}
	for _, o := range found {
		ids = append(ids, o.ID)
		if seen[o.ID], err = d.engine.Inspect(ctx, o.ID); err != nil {
			return err
		}
	}
	byNumber := func(a, b string) int { return cmp.Compare(numberOf(seen[a]), numberOf(seen[b])) }
	slices.SortFunc(ids, byNumber)
	isAnyRunning := false
	for _, id := range ids {
		c := d.newContainer(d.specOf(seen[id]), id, seen[id])
		d.Add(c)
		if output, err := d.engine.Follow(d.Watching, id, c.terminal); err != nil { // its driver keeps no log
			fmt.Fprintln(c.Log, err)
			close(c.followed)
		} else {
			go c.follow(output)
		}
		go c.await()
		if c.HostPID() != 0 {
			isAnyRunning = true
			continue
		}
		// It has ended already, and its end is judged before the trial begins.
		if err := c.AwaitEnd(ctx); err != nil {
			return err
		}
	}
	if err := d.Failure(); err != nil {
		return err
	}
	if !isAnyRunning {
		return errors.New("no container of the compose file runs")
	}
	return nil
}

// numberOf returns the number of a container within its service, from 1.
func numberOf(seen engine.Inspection) int {
	n, _ := strconv.Atoi(seen.Config.Labels[labelNumber]) // the compose command writes a number
	return n
}

// specOf returns the spec of a container as a unit. The first container of a service has the name in
// the layout; further ones have a number behind it.
func (d *deployment) specOf(seen engine.Inspection) lab.UnitSpec {
	service := seen.Config.Labels[labelService]
	spec := d.project.spec
	spec.Name = service
	for n := 2; d.Named(spec.Name) != nil; n++ {
		spec.Name = fmt.Sprintf("%s-%d", service, n)
	}
	return spec
}

// Units implements lab.Deployment. A container that had ended when the others were up is no unit.
func (d *deployment) Units() []lab.Unit {
	return slices.DeleteFunc(d.Fleet.Units(), func(u lab.Unit) bool { return u.PID == 0 })
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := d.Fleet.Logs()
	maps.Copy(logs, d.prepared)
	return logs
}

// images returns the images of the running containers whose sizes the daemon knows.
func (d *deployment) images(ctx context.Context, _ []lab.UnitSpec) []lab.ProgramImage {
	var names []string
	for _, c := range d.All() {
		if c.HostPID() != 0 {
			names = append(names, c.image)
		}
	}
	return images.SizesBy(ctx, d.engine, names)
}

// clear ends the services with the compose command, in its order.
func (d *deployment) clear() error {
	all := d.All()
	for _, c := range all {
		_ = d.Doom(c.Unit) // it may have ended
	}
	err := d.project.down(len(all))
	d.Unwatch()
	for _, c := range all {
		<-c.Ended
	}
	return err
}

// platform returns the platform of the trial's fleet.
func (d *deployment) platform() fleet.Platform[*container] {
	return fleet.Platform[*container]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, Span: lab.SpanContainer,
		Next: d.next, Gone: func(ctx context.Context, c *container) error { return c.Gone(ctx) },
		Clear: d.clear, Images: d.images, Daemons: containers.Daemons,
		Reach:     func(string) string { return "" }, // only the compose file has the addresses
		AwaitOpen: func(ctx context.Context, c *container) error { return c.awaitListening(ctx) },
	}
}
