// Package system is the shop as a system under test: which units a variant
// consists of, what work it is given, how a trial is audited and measured. It
// starts nothing and sends nothing.
//
// Entry points: System, with a generator and the load of the study.
package system

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// Factors of points, in addition to those of loaded.Base.
const (
	Orders    = "orders" // number of orders, as fast as they are answered or over loaded.Over seconds
	Customers = "customers"
	Products  = "products"
	Stock     = "stock"     // units of each product
	Balance   = "balance"   // cents on each account
	Cancelled = "cancelled" // percent of orders that are cancelled a moment later
	Repriced  = "repriced"  // percent of orders before which their product gets another price
	Reads     = "reads"     // reads of the page of an order after it was made
)

// System is the shop under the load of a study.
type System struct {
	loaded.Unplayed
	Generator lab.Generator
	Load      lab.Load
	// Spans is a folder for the spans of all trials; empty: they are not kept.
	Spans string
}

// base returns the part of the shop that all systems under load share.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Orders}
}

var (
	_ lab.System      = System{}
	_ lab.Measurer    = System{}
	_ lab.LiveAuditor = System{}
	_ lab.Checkable   = System{}
	_ lab.Explainable = System{}
	_ lab.Backed      = System{}
	_ lab.Profiled    = System{}
	_ lab.Modelled    = System{}
)

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: shop.Name, Operation: "order",
		Summary:       "an e-commerce shop: creating an order takes stock, money and a shipment, or nothing",
		Architectures: architecture.All(),
		Parameters: append(s.base().Parameters("orders"), []lab.Parameter{
			{Name: Customers, Summary: "customers of the shop (1000)", Min: 1, Max: shop.MaxRows, Optional: true},
			{Name: Products, Summary: "products of the shop (1000)", Min: 1, Max: shop.MaxRows, Optional: true},
			{Name: Stock, Summary: "units of each product on the shelf (1000000)", Max: 1e9, Optional: true},
			{Name: Balance, Summary: "cents on the account of each customer (1000000000)", Max: 1e12, Optional: true},
			{Name: Cancelled, Summary: "percent of orders that their customers cancel a moment later; rejections " +
				"are right answers then (0)", Max: 90, Optional: true},
			{Name: Repriced, Summary: "percent of orders before which their product gets another price; with " +
				Cancelled + " at most 90 (0)", Max: 90, Optional: true},
			{Name: Reads, Summary: "how often a client reads the page of its order afterwards; with 9 nine of ten " +
				"requests are reads (0)", Max: mostReads, Optional: true},
		}...),
		Metrics: metrics(), Restartable: true,
		Check: func(v lab.Variant) error {
			_, err := architecture.New(v.Architecture, v.Knobs)
			return err
		},
		Changes: architecture.Differences,
	}
}

// seed returns the fresh shop of a point.
func seed(p lab.Point, random uint64) shop.Seed {
	level := func(name string, otherwise int64) int64 {
		if value, set := p.Level(name); set {
			return int64(value)
		}
		return otherwise
	}
	return shop.Seed{
		Customers: level(Customers, 1000), Products: level(Products, 1000),
		Stock: level(Stock, 1_000_000), Balance: level(Balance, 1_000_000_000), Random: random,
	}
}

const (
	// settleTimeout limits the time from the last answer until all orders are final, in
	// seconds: orders that are accepted too fast pile up.
	settleTimeout = 300
	// descriptors is the limit on open files of a process: connections of clients, units and databases.
	descriptors = 4096
)

// Layout implements lab.System.
func (s System) Layout(v lab.Variant, p lab.Point, random uint64) (lab.Layout, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return lab.Layout{}, err
	}
	filled := seed(p, random)
	if err := filled.Check(); err != nil {
		return lab.Layout{}, err
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: descriptors, Services: services(design),
		Code: code(design)}
	layout.Prepare = []lab.UnitSpec{kit.Unit("prepare", shop.Name,
		assembly.UnitJob{Architecture: v.Architecture, Knobs: v.Knobs, Prepare: &filled})}
	if layout.Units, err = units(v, design); err != nil {
		return lab.Layout{}, err
	}
	if design.Binding.OverUnix() {
		for _, unit := range layout.Units {
			// see assembly's socketOf
			layout.SocketName = max(layout.SocketName, len(socketsVolume+"/"+unit.Name+".sock"))
		}
	}
	front := design.Hosting(shop.ComponentOrders).Instances()
	if len(front) > 1 {
		layout.Units = append(layout.Units, balancers(front, design.Pair)...)
		front = []string{RoleBalancer}
	}
	generator, err := s.generator(v, p, filled, design, front[0], random)
	if err != nil {
		return lab.Layout{}, err
	}
	layout.Units = append(layout.Units, generator)
	return layout, nil
}

// socketsVolume is the folder in which units find each other's Unix sockets.
const socketsVolume = "sockets"

// program returns the program of a unit: an ORM is in a program of its own.
func program(d architecture.Design) string {
	if d.Access == architecture.ORM {
		return shop.Name + "-orm"
	}
	return shop.Name
}

// units returns the units of a design. Every unit has the addresses of all others.
func units(v lab.Variant, d architecture.Design) ([]lab.UnitSpec, error) {
	var instances []string
	for _, kind := range d.Units {
		instances = append(instances, kind.Instances()...)
	}
	var all []lab.UnitSpec
	for _, kind := range d.Units {
		for n, instance := range kind.Instances() {
			unit := kit.Unit(instance, program(d), assembly.UnitJob{Architecture: v.Architecture, Knobs: v.Knobs,
				Unit: kind.Name})
			unit.Role = kind.Name
			unit.Listens = true
			unit.Stage = 1
			if kind.Hosts(shop.ComponentOrders) {
				unit.Stage = 0 // it calls the others, and stops first
			}
			// Units keep what they store in databases and the broker. If the knob replicas makes several of a kind,
			// they have names of their own and are not scaled further.
			unit.Scalable = kind.Replicas == 1
			if d.Binding.OverUnix() {
				unit.Volume = socketsVolume
				unit.Scalable = false // sockets are found by the names of units
			}
			unit.Peers = slices.DeleteFunc(slices.Clone(instances), func(name string) bool { return name == instance })
			unit.Uses = uses(d, kind)
			if d.Pair && kind.Name == d.Hosting(shop.ComponentOrders).Name {
				unit.Node = fmt.Sprintf("back-%d", n+1)
			}
			all = append(all, unit)
		}
	}
	if err := kit.CheckBalancing(d.Balancing, v, all); err != nil {
		return nil, err
	}
	if err := hosting.Protect(all, d.Security); err != nil {
		return nil, err
	}
	if d.Sidecar != kit.NoSidecar {
		all = loaded.Sidecars(all, d.Binding.OverGRPC(), d.Security != kit.Plain)
	}
	return all, nil
}

// generator returns the load generator, which sends to the unit in front.
func (s System) generator(
	v lab.Variant, p lab.Point, filled shop.Seed, d architecture.Design, front string, random uint64,
) (lab.UnitSpec, error) {
	job := lab.LoadJob{
		Target: "http://shop", Seed: random, Variant: v.Name,
		Settle: lab.ReadyCheck{Path: assembly.SettledPath, Timeout: settleTimeout}, Between: assembly.BetweenPath,
	}
	var err error
	if job.Scenario, err = workload(p, filled, d); err != nil {
		return lab.UnitSpec{}, err
	}
	return s.base().Unit(job, p, front)
}
