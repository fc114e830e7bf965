package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

type compareFlags struct {
	foreignFlags
	deployments []string // of every system; empty: each system has its own
	rates       []string
	users       []int
	capacity    bool
	lengthen    float64
	faults      []string
	nameBy      string
}

func (f *compareFlags) register(command *cobra.Command) {
	r := &f.request
	f.isSet = command.Flags().Changed
	r.isSet = command.Flags().Changed
	addGroup(command, "What is sent", f.addSent, r.addRequest)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.StringSliceVarP(&f.rates, "rate", "r", nil,
			"open loop: `flows` per second, comma-separated: 500,1000")
		flags.IntSliceVarP(&f.users, "users", "u", nil, "closed loop: `number` of users, comma-separated: 1,16")
		flags.StringVar(&f.arrivals, "arrivals", lab.JitteredArrivals,
			"open loop: `kind` of arrivals: jittered (at a random moment of its interval), constant or poisson")
		f.addLength(flags, 10*time.Second)
	}, r.addConnections, r.addClient)
	addGroup(command, "Answers", r.addAnswers, func(flags *pflag.FlagSet) {
		flags.StringVar(&r.objective, "objective", "",
			"`conditions` that a rate must meet, e.g. 'p99<50ms,errors<0.1%'")
		flags.BoolVar(&f.capacity, "capacity", false,
			"also search for the highest rate of each system that meets the objective")
	})
	addGroup(command, "Trust", r.addAllowed, f.addTrusted)
	addGroup(command, "Deployment", func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.deployments, deployFlagName, nil,
			"`deployment` of commands, or several to compare each in (process,docker-host): "+
				strings.Join(lab.Deployments(), ", "))
	}, f.addCompose, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.cores, "cores", "auto",
			"processors as `SYSTEM/GENERATOR`, e.g. 0,1/2; auto: the last for the generator; none: all for both")
	}, addClusters)
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.faults, "fault", nil, "fault in every load, and its end: "+
			"`KIND:TARGET[@AFTER][+HEAL]`, e.g. kill:cart@5s+1s (docs/faults.md)")
		f.addBlocks(flags, 8, "system at each point",
			"play 3 blocks of 3 s to see that all works; differences below 20 % stay undecided")
		flags.Float64Var(&f.lengthen, "lengthen", 4,
			"maximum `factor` for the length of loads whose trials are not steady (1: no longer loads)")
	}, f.addDesign, f.addPlay)
	addGroup(command, "Output", f.addOutput, f.addVerdict, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.nameBy, "name-by", "",
			"`difference` by which the report names processes of one program: folder, port, or an "+
				"argument, given by its name (--service) or its number (1) (default: folder, else port)")
	})
}

// defaultObjective is the objective of searches for the capacity without --objective.
const defaultObjective = "p99<100ms,errors<0.1%"

// errOwnConnections refuses --connections for a closed loop.
var errOwnConnections = errors.New("--connections: every one of --users has a connection of its own: leave " +
	"it out")

// mistakes returns an error for invalid flags.
func (f *compareFlags) mistakes() error {
	wrong := mistakes{f.checkDesign()}
	if f.isSet("connections") && len(f.users) > 0 {
		wrong.add(errOwnConnections)
	}
	if !(f.lengthen >= 1 && f.lengthen <= study.MostLengthened) {
		wrong.addf("--lengthen is %g, expected a number from 1 to %d", f.lengthen, study.MostLengthened)
	}
	return wrong.err()
}

// checkNameBy returns an error if --name-by is invalid.
func (f *compareFlags) checkNameBy(definitions []external.Definition) error {
	if f.nameBy == "" {
		return nil
	}
	number, _ := strconv.Atoi(f.nameBy) // 0 if it is no number
	isName := number == 0 && strings.HasPrefix(f.nameBy, "-")
	known := isName || number > 0 || slices.Contains([]string{lab.NameByFolder, lab.NameByPort}, f.nameBy)
	switch {
	case !known:
		return fmt.Errorf("--name-by is %q, expected %s, %s, the name of an argument such as --service, or its "+
			"number from 1 on", f.nameBy, lab.NameByFolder, lab.NameByPort)
	case !slices.ContainsFunc(definitions, func(d external.Definition) bool { return d.Kind() == "command" }):
		return errors.New("--name-by: none of the systems is a command, whose processes it could name: leave it " +
			"out")
	}
	return nil
}

// points returns the points at which the systems are compared, including one for the capacity with
// --capacity. own is the load of the scenario, or nil if it has none.
func (f *compareFlags) points(own *scenario.Load) ([]lab.Point, error) {
	if len(f.rates) > 0 && len(f.users) > 0 {
		return nil, errors.New("give --rate for open loops or --users for closed ones, not both")
	}
	var points []lab.Point
	add := func(point lab.Point) error {
		if slices.ContainsFunc(points, func(p lab.Point) bool { return p.Name == point.Name }) {
			return fmt.Errorf("--rate or --users names the point %s twice: leave one out", point.Name)
		}
		points = append(points, point)
		return nil
	}
	var wrong mistakes
	from := 100.0 // where the search begins without --rate
	for i, text := range f.rates {
		rate, err := schedule.ParseRate(text)
		if err == nil {
			err = add(ratePoint(rate))
		}
		wrong.add(err)
		if i == 0 {
			from = rate
		}
	}
	for _, n := range f.users {
		if n < 1 {
			wrong.addf("--users is %d, expected a number from 1 on", n)
			continue
		}
		wrong.add(add(usersPoint(n)))
	}
	if len(f.rates)+len(f.users) == 0 && own != nil {
		points = append(points, lab.Point{Name: "scenario", Levels: map[string]float64{}})
	}
	if f.capacity {
		capacity := lab.Point{Name: "capacity", Levels: map[string]float64{lab.FactorSearchFrom: from}}
		wrong.add(add(capacity))
	}
	if len(points) == 0 {
		wrong.addf("give --rate for an open loop, --users for a closed one, or --capacity")
	}
	return points, wrong.err()
}
