package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/predict"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	change      changeFlags
	partitions  bool
	capacity    bool
	objective   string
	hop         string
	rate, cores float64
	seed        uint64
	json        string
}

// changeFlags are the flags of predict and rehearse for another placement. Only predict has --stores.
type changeFlags struct{ split, merge, replicas, stores string }

func (c *changeFlags) addTo(f *pflag.FlagSet) {
	f.StringVar(&c.split, "split", "",
		"move `components` into units of their own: orders,payments; a plus keeps some together: orders+payments")
	f.StringVar(&c.merge, "merge", "",
		"join `units`, by their names or those of components in them: cart,catalog")
	f.StringVar(&c.replicas, "replicas", "", "change the number of replicas of `units`: orders=2,front=3")
}

// keepsPlacement reports whether the flags leave the placement as it is.
func (c changeFlags) keepsPlacement() bool { return c.split+c.merge+c.replicas == "" }

// read returns the change that the flags ask for.
func (c changeFlags) read() (change predict.Change, err error) {
	change.Stores = predict.Stores(c.stores)
	if c.keepsPlacement() && change.Stores.Shared() {
		return change, errors.New("nothing is changed: give --split, --merge or --replicas")
	}
	if c.split != "" {
		change.Split = predict.ParseGroups(c.split)
	}
	if c.merge != "" {
		change.Merge = strings.Split(c.merge, ",")
	}
	change.Replicas, err = parseReplicas(c.replicas)
	return change, err
}

func (a app) predictCommand() *cobra.Command {
	var flags predictFlags
	command := &cobra.Command{
		Use:   "predict MODEL",
		Short: "simulate a split or a merge that nobody has built yet",
		Long: `Simulates the system of a model file as it is and with its components placed
otherwise, and shows both side by side: response times, CPU time, cores,
capacity, and where the change comes from.

Before it answers it predicts what was measured. The answer is withheld (exit
code 6) if that fails, if the model lacks CPU times, or if something would be
used to more than 80 %. docs/predicting.md says how it is done and what it does
not model.

--all-partitions ranks every way to divide up to ten components into units.`,
		Example: `  cleave predict shop.model.yaml --split orders,payments --rate 500 --cores 4
  cleave predict shop.model.yaml --merge cart,catalog --rate 500 --hop 60us,80us
  cleave predict shop.model.yaml --split orders --rate 500 --capacity --objective p99<50ms
  cleave predict shop.model.yaml --all-partitions --rate 500 --hop 60us,80us --json all.json`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			return a.predict(command.Context(), args[0], flags)
		},
	}
	flags.addTo(command.Flags())
	return command
}

func (f *predictFlags) addTo(flags *pflag.FlagSet) {
	f.change.addTo(flags)
	flags.StringVar(&f.change.stores, "stores", string(predict.SharedStores),
		"`parts` that get stores of their own with the change: unit or component; shared: the stores stay as "+
			"they are in the model")
	flags.BoolVar(&f.partitions, "all-partitions", false,
		"rank every way to divide the components into units, by CPU time")
	flags.Float64Var(&f.rate, "rate", 0, "operations per second")
	flags.BoolVar(&f.capacity, "capacity", false, "also search for the highest rate that meets the objective")
	flags.StringVar(&f.objective, "objective", "",
		"`conditions` on percentiles that --capacity must meet, e.g. p50<20ms,p99<50ms (default p99<100ms)")
	flags.Float64Var(&f.cores, "cores", float64(runtime.NumCPU()), "cores of the host of all units")
	flags.StringVar(&f.hop, "hop", "",
		"`cost` of a call between two units that the model has no hop for: CPU,WAIT as in 60us,80us, a run of "+
			"cleave rehearse at that rate, results/rehearse/latest, or one of cleave explain network, "+
			"results/network/latest:http-loopback (default: that of the model's hops)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the simulations")
	flags.StringVar(&f.json, "json", "", "write the prediction as JSON to this `file`, - for standard output")
}

// predict makes the prediction that the flags ask for, from the model file at path, and writes it.
func (a app) predict(ctx context.Context, path string, flags predictFlags) error {
	if err := checkOutput("--json", flags.json); err != nil {
		return err
	}
	q, err := flags.question(path)
	if err != nil {
		return badPlan(err)
	}
	var answer interface {
		Write(io.Writer) error
		Document() lab.Prediction
	}
	if flags.partitions {
		answer, err = predict.Rank(ctx, q)
	} else {
		answer, err = predict.Predict(ctx, q)
	}
	if err != nil {
		return withCode(exitBadPlan, "%s: %w", path, err)
	}
	document := answer.Document()
	shown := a.textStream(isOutput(flags.json))
	err = errors.Join(answer.Write(shown),
		a.writeDocument(flags.json, func(w io.Writer) error { return writeJSON(w, document) }))
	if err == nil && len(document.Withheld) > 0 {
		return withCode(exitUndecided, "the answer is withheld; the reasons are above")
	}
	return err
}

// simulatedOperations is the number of operations that are simulated for each figure.
const simulatedOperations = 100_000

// question reads the model file at path and returns the question that the flags ask about it.
func (f predictFlags) question(path string) (q predict.Question, err error) {
	q = predict.Question{Rate: f.rate, Cores: f.cores, MeasuredCores: float64(runtime.NumCPU()), Seed: f.seed,
		Operations: simulatedOperations}
	if q.Model, err = readModel(path); err != nil {
		return q, err
	}
	if q.Past, err = predict.KnownPast(); err != nil {
		return q, err
	}
	if !(f.rate > 0 && f.rate <= math.MaxFloat64) {
		return q, fmt.Errorf("--rate is %g: say how many operations a second there will be", f.rate)
	}
	if !(f.cores > 0 && f.cores <= math.MaxFloat64) {
		return q, fmt.Errorf("--cores is %g: give the host some, and a finite number", f.cores)
	}
	if err := predict.Stores(f.change.stores).Check(); err != nil {
		return q, fmt.Errorf("--stores: %w", err)
	}
	switch {
	case !f.partitions:
		q.Change, err = f.change.read()
	case f.change.keepsPlacement() && !f.capacity:
		q.Change.Stores = predict.Stores(f.change.stores)
	default:
		err = errors.New("--all-partitions ranks all placements: leave out --split, --merge, --replicas and " +
			"--capacity, and ask for these of one placement")
	}
	if err == nil {
		q.Objective, err = f.capacityObjective()
	}
	if err != nil {
		return q, err
	}
	q.Hop, err = parseHop(f.hop)
	return q, err
}

// capacityObjective returns the objective of --capacity. It is empty without --capacity.
func (f predictFlags) capacityObjective() (predict.Objective, error) {
	if !f.capacity {
		if f.objective != "" {
			return predict.Objective{}, errors.New("--objective is for --capacity: give both, or leave it out")
		}
		return predict.Objective{}, nil
	}
	read, err := objective.Parse(cmp.Or(f.objective, "p99<100ms"))
	if err != nil {
		return predict.Objective{}, fmt.Errorf("--objective: %w", err)
	}
	o := predict.Objective{Text: read.String()}
	for _, t := range read.Terms {
		digits, is := strings.CutPrefix(t.Metric, "p")
		percent, err := strconv.ParseFloat(digits, 64)
		if !is || err != nil || !strings.HasPrefix(t.Op, "<") {
			return o, fmt.Errorf("--objective: %s is not simulated: give conditions such as p50<20ms and p99<50ms", t)
		}
		o.Limits = append(o.Limits, predict.Limit{Share: percent / 100, Seconds: t.Limit})
	}
	return o, nil
}

// maxPredictedReplicas is the largest number of replicas of a unit that --replicas may ask for.
const maxPredictedReplicas = 10_000

// parseReplicas reads numbers of replicas, as in "orders=2,front=3".
func parseReplicas(text string) (map[string]int, error) {
	if text == "" {
		return nil, nil
	}
	all := map[string]int{}
	for one := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(one, "=")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("--replicas %q: want a unit and a number, as in orders=2", one)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("--replicas %q: %s is given twice", text, name)
		}
		if n > maxPredictedReplicas {
			return nil, fmt.Errorf("--replicas %q: want at most %d of a unit", one, maxPredictedReplicas)
		}
		all[name] = n
	}
	return all, nil
}
