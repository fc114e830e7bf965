// Package shopunit is the shop's part of the unit program: it connects a unit to the services and the channel
// that a deployer gives it. Package assembly makes the unit.
package shopunit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/unit"
)

// Run runs a unit of the shop until it is told to stop (by command, by SIGTERM,
// or because the conductor is gone), or prepares its databases and ends.
func Run(channel *unit.Channel, argument string) error { return RunMapped(channel, argument, nil) }

// RunMapped is Run in a program whose components may reach their tables by an ORM.
func RunMapped(channel *unit.Channel, argument string, mapped assembly.Stores) error {
	var job assembly.UnitJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	design, err := architecture.New(job.Architecture, job.Knobs)
	if err != nil {
		return err
	}
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	place := assembly.Place{Dir: dir, Peer: unit.PeerAddress, Service: service, Mapped: mapped}
	return hosting.Run(channel, func(ctx context.Context) (hosting.Served, error) {
		if job.Prepare != nil {
			return nil, assembly.Prepare(ctx, design, place, *job.Prepare)
		}
		name, err := unit.Name()
		if err == nil {
			err = shareHost(design, job.Unit)
		}
		if err != nil {
			return nil, err
		}
		return assembly.Open(ctx, design, job.Unit, name, place)
	})
}

// monitorLate is the timer slack of the monitor of Go's runtime: the pause between its checks in an idle
// process.
const monitorLate = 10 * time.Millisecond

// shareHost configures Go's runtime for a host that this unit shares with others, if the design says so.
func shareHost(design architecture.Design, kind string) error {
	of, err := design.Unit(kind)
	if err != nil || !design.SharesHost(of) {
		return err
	}
	all := runtime.GOMAXPROCS(0)
	own := design.ShareOf(all)
	if own == all {
		return nil
	}
	runtime.GOMAXPROCS(own)
	return unit.Slacken(monitorLate)
}

// service returns the address of a backing service.
func service(name string) (string, error) {
	address := os.Getenv(lab.ServiceVariable(name))
	if address == "" {
		return "", fmt.Errorf("%s is not set: this unit needs the backing service %s", lab.ServiceVariable(name),
			name)
	}
	return address, nil
}
