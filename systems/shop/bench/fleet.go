package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/system"
)

// trialTimeout ends a trial that hangs. Trials take seconds.
const trialTimeout = 3 * time.Minute

// saturated is the result of one trial of a deployed shop: orders placed as fast as
// they were answered, and all of them final.
type saturated struct {
	Rate       float64            // final orders per second, until the last one was final
	CPU        map[string]float64 // seconds per order, by role
	Statements float64            // per order, of all units
	Commits    float64            // transactions per order, of all units
}

// clientsFor is the lab.Generator of a trial: this program as the clients' process.
type clientsFor struct {
	job clientJob
}

// Unit implements lab.Generator.
func (c clientsFor) Unit(job lab.LoadJob) (lab.UnitSpec, error) {
	own, err := os.Executable()
	if err != nil {
		return lab.UnitSpec{}, fmt.Errorf("find the program of the clients: %w", err)
	}
	c.job.Unit = job.Unit
	text, err := json.Marshal(c.job)
	if err != nil {
		return lab.UnitSpec{}, fmt.Errorf("encode the clients' job: %w", err)
	}
	return lab.UnitSpec{
		Runnable: lab.Runnable{Program: own, Args: []string{clientsName, string(text)}},
	}, nil
}

// Read implements lab.Generator. The clients report nothing beside their finish.
func (c clientsFor) Read(lab.UnitReport) (lab.LoadReport, error) { return lab.LoadReport{}, nil }

// fleet deploys shops as the conductor does: a process per unit, fresh servers.
type fleet struct {
	options
	deployer lab.Deployer
	backings map[string]lab.Backing
	dir      string
}

func newFleet(o options) (*fleet, error) {
	units, err := trials.Units(o.units)
	if err != nil {
		return nil, err
	}
	deployer, err := trials.Deployer(units)
	if err != nil {
		return nil, err
	}
	dir, err := servers.Folder()
	if err != nil {
		return nil, err
	}
	f := &fleet{options: o, deployer: deployer, dir: dir,
		backings: map[string]lab.Backing{sqlite.Kind: sqlite.New()}}
	for _, backing := range server.Backings(dir) {
		f.backings[backing.Kind] = backing
	}
	return f, nil
}

func (f *fleet) close() error { return os.RemoveAll(f.dir) }

// play deploys a variant, has clients order between two marks of the meter, and
// audits what is left.
func (f *fleet) play(ctx context.Context, v lab.Variant) (result saturated, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	layout, err := f.layout(v)
	if err != nil {
		return result, err
	}
	services, err := run.OpenServices(ctx, f.backings, layout, f.dir)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, services.Release()) }()
	if layout, err = services.Introduce(layout); err != nil {
		return result, err
	}
	err = trials.Play(ctx, f.deployer, layout, f.dir, func(o trials.Outcome) (err error) {
		if result, err = f.perOrder(o); err != nil {
			return err
		}
		addresses, err := services.Addresses(o.Deployment)
		if err != nil {
			return err
		}
		return f.check(ctx, v, addresses[assembly.ServiceDatabase])
	})
	return result, err
}

// perOrder returns the result of a trial: its usage and counts divided by its orders.
func (f *fleet) perOrder(o trials.Outcome) (saturated, error) {
	n := float64(f.orders)
	result := saturated{Rate: n / o.Finished.ElapsedSeconds, CPU: map[string]float64{}}
	for role, used := range o.Used.Roles {
		result.CPU[role] = used.CPUSeconds / n
	}
	err := count(o.Reports, f.orders+f.warmUp(), &result)
	return result, err
}

// warmUp returns the number of orders that are placed before the first mark.
func (o options) warmUp() int { return 10 * o.clients }

// layout returns the layout of a study's trial, with our own clients.
func (f *fleet) layout(v lab.Variant) (lab.Layout, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return lab.Layout{}, err
	}
	job := clientJob{Seed: f.seed, Orders: f.orders, WarmUp: f.warmUp(), Clients: f.clients,
		State: shop.StateConfirmed}
	if design.OverBroker() {
		job.State = shop.StatePending
	}
	filled := seed()
	point := lab.Point{Levels: map[string]float64{
		system.Orders: float64(f.orders), system.Customers: float64(filled.Customers),
		system.Products: float64(filled.Products),
		system.Stock:    float64(filled.Stock), system.Balance: float64(filled.Balance),
	}}
	return system.System{Generator: clientsFor{job}}.Layout(v, point, f.seed)
}

// count adds the statements and commits of all units, divided by the orders, to a result.
func count(reports []lab.UnitReport, orders int, into *saturated) error {
	units, err := hosting.Reports[assembly.Report](reports)
	for _, unit := range units {
		for _, counters := range unit.Databases {
			into.Statements += float64(counters.Statements) / float64(orders)
			into.Commits += float64(counters.Commits) / float64(orders)
		}
	}
	return err
}

// check audits the databases of a trial. The clients have checked the answers already.
func (f *fleet) check(ctx context.Context, v lab.Variant, address string) (err error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return err
	}
	databases, err := assembly.OpenDatabases(ctx, design, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, databases.Close()) }()
	filled := seed()
	filled.Random = f.seed // the layout fills the shop from this seed
	return judge(ctx, databases, design, filled, makeJobs(f.seed, f.orders+f.warmUp()))
}
