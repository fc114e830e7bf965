package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// Names of flags that messages and lists of flags mention, too.
const (
	deployFlagName = "deploy"
	backingFlag    = "backing"
	profileFlag    = "profile"
)

// groupAnnotation holds the title under which help shows a flag.
const groupAnnotation = "group"

// helpWidth is the width of the texts of flags, in columns.
const helpWidth = 80

// addGroup adds flags to a command. Its help shows them under a title, in the order in which the makers add
// them.
func addGroup(command *cobra.Command, title string, makers ...func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	for _, addTo := range makers {
		addTo(set)
	}
	set.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{groupAnnotation: {title}}
		// Help would show the default of an empty map or list of numbers, "[]".
		if kind := f.Value.Type(); strings.HasPrefix(kind, "stringTo") || kind == "float64Slice" {
			f.DefValue = ""
		}
	})
	command.Flags().SortFlags = false
	command.Flags().AddFlagSet(set)
}

// readFlagFile returns the content of the file that a flag names, of at most this many bytes; nil without the
// flag.
func readFlagFile(flag, path string, most int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := inputfile.Read(path, most)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return data, nil
}

// changedFlags returns the set flags of a command line for which a condition holds, with their dashes.
func changedFlags(command *cobra.Command, is func(*pflag.Flag) bool) (names []string) {
	command.Flags().Visit(func(f *pflag.Flag) {
		if is(f) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// usage returns the function that shows a command with its flags in groups. usual shows commands without
// groups.
func usage(usual func(*cobra.Command) error) func(*cobra.Command) error {
	return func(command *cobra.Command) error {
		var titles []string
		groups := map[string]*pflag.FlagSet{}
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, title := range f.Annotations[groupAnnotation] {
				if groups[title] == nil {
					titles = append(titles, title)
					groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
					groups[title].SortFlags = false
				}
				groups[title].AddFlag(f)
			}
		})
		if len(titles) == 0 {
			return usual(command)
		}
		out := command.OutOrStdout()
		fmt.Fprintf(out, "Usage:\n  %s\n", command.UseLine())
		for _, below := range command.Commands() {
			fmt.Fprintf(out, "  %s   %s\n", below.UseLine(), below.Short)
		}
		fmt.Fprintf(out, "\nExamples:\n%s\n", command.Example)
		for _, title := range titles {
			fmt.Fprintf(out, "\n%s:\n%s", title, groups[title].FlagUsagesWrapped(helpWidth))
		}
		return nil
	}
}

// addDeployment adds the flag for the deployment of every variant, and the flags for clusters of the user.
func (f *experimentFlags) addDeployment(flags *pflag.FlagSet) {
	flags.Var(choice{&f.deploy, "deployment", lab.Deployments()}, deployFlagName,
		"`deployment` of every variant: "+strings.Join(lab.Deployments(), ", "))
	addClusters(flags)
}

// addClusters adds the flags that name clusters and hosts of the user.
func addClusters(flags *pflag.FlagSet) {
	add := func(name, variable, text string) {
		flags.Var(variableFlag(variable), name, text+" ("+variable+")")
	}
	add("context", kubernetes.ContextVariable, "`context` of your cluster, for --deploy kubernetes")
	add("kubeconfig", kubernetes.ConfigVariable,
		"`file` with the context of your cluster, for --deploy kubernetes")
	add("swarm", swarm.Variable,
		"`address` of a manager of your swarm, or its context of docker, for --deploy swarm")
	add("registry", registry.Variable, "`HOST/PATH` from which the nodes of your cluster pull images")
	add("hosts", ssh.Variable, "your `hosts` as ssh takes them, comma-separated, for --deploy ssh")
}

// choice is a flag with a list of possible values.
type choice struct {
	to    *string
	kind  string // of the values, in messages
	known []string
}

// The methods of pflag.Value.

func (c choice) String() string { return *c.to }
func (c choice) Type() string   { return c.kind }

func (c choice) Set(value string) error {
	if !slices.Contains(c.known, value) {
		return fmt.Errorf("there is no %s %q: expected %s", c.kind, value, strings.Join(c.known, ", "))
	}
	*c.to = value
	return nil
}

// variableFlag is a flag that sets the environment variable of this name, because the janitor, the sweeper
// and a later `cleave clean` also read it.
type variableFlag string

// The methods of pflag.Value.

func (f variableFlag) String() string { return os.Getenv(string(f)) }
func (f variableFlag) Type() string   { return "text" }

func (f variableFlag) Set(text string) (err error) {
	if f == kubernetes.ConfigVariable && text != "" { // rejectEmptyFlags refuses an empty one
		// An empty ContextVariable selects the current context of the kubeconfig.
		if _, set := os.LookupEnv(kubernetes.ContextVariable); !set {
			_ = os.Setenv(kubernetes.ContextVariable, "") // cannot fail with this name
		}
		if text, err = filepath.Abs(text); err != nil { // the sweeper reads it, too, from another folder
			return err
		}
	}
	return os.Setenv(string(f), text)
}

// addBackings adds the flag that selects other backing services for every variant.
func (f *experimentFlags) addBackings(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.backings, backingFlag, nil, "backing `services` instead of the embedded ones: "+
		"mariadb or postgres, rabbitmq, mongo, cassandra (systems: "+
		strings.Join(systemsThat[lab.Backed](), ", ")+")")
}

// addDesign adds the flags about how the trials of an experiment are planned and counted.
func (f *experimentFlags) addDesign(flags *pflag.FlagSet) {
	flags.Uint64Var(&f.seed, "seed", 0, "`number` that the order of trials and random choices follow from "+
		"(default: the study's, else 1)")
	flags.BoolVar(&f.noGates, "no-gates", false, "count trials even if the host or the generator was disturbed")
	f.sequential.addTo(flags)
	flags.IntVar(&f.profiled, profileFlag, 0, "repeat every variant under the profiler of its runtime (Java, "+
		"Node.js, our units in Go) in this number of `blocks`; such trials are not timed (docs/profiling.md)")
	flags.Lookup(profileFlag).NoOptDefVal = strconv.Itoa(study.ProfiledByDefault)
}

// addPlay adds the flags about how a plan is played.
func (f *experimentFlags) addPlay(flags *pflag.FlagSet) {
	flags.BoolVar(&f.planOnly, "plan", false,
		"show trials, time and disk of the plan, and play nothing; with --json the plan itself")
	flags.StringVar(&f.resume, "resume", "", "continue the interrupted experiment in this result `folder`, "+
		"by the plan in it")
	flags.BoolVar(&f.strict, "strict", false,
		"refuse (exit code 3) if this host lacks a part, instead of leaving out what needs it")
	flags.StringVar(&f.serve, serveName, "",
		"show the run in the browser while it is played, at this `IP:PORT` (docs/serving.md)")
	flags.Lookup(serveName).NoOptDefVal = usualAddress
}

// addTrust adds the flag that trusts plans of others.
func (f *experimentFlags) addTrust(flags *pflag.FlagSet) {
	flags.BoolVar(&f.trust, "trust", false, "play the plan of somebody else's result folder without asking")
}

// addOutput adds the flags about results, progress and documents.
func (f *experimentFlags) addOutput(flags *pflag.FlagSet) {
	f.addResults(flags)
	f.out.addTo(flags)
	f.documents.addTo(flags)
}

// addResults adds the flags about results and progress.
func (f *experimentFlags) addResults(flags *pflag.FlagSet) {
	flags.StringVar(&f.results, "results", "results", "`folder` for results")
	addProgress(flags, &f.progress,
		"`form` of the progress: auto, terminal, plain (a line per trial), json (an object per trial) or none")
}

// addProgress adds the flag for the form of the progress.
func addProgress(flags *pflag.FlagSet, to *string, help string) {
	*to = "auto"
	flags.Var(choice{to, "form", []string{"auto", "terminal", "plain", "json", "none"}}, "progress", help)
}

// addVerdict adds the flags about results that compare variants.
func (f *experimentFlags) addVerdict(flags *pflag.FlagSet) {
	f.documents.addFull(flags)
	flags.BoolVar(&f.needVerdict, "require-verdict", false,
		"exit with code 6 if a claim or the headline is undecided")
}

// warmUp is the duration of the unrecorded load before the measured one. If limit is set, it lasts until the
// load is steady: at least the time least, and at most limit.
type warmUp struct{ least, limit time.Duration }

// addTo adds the flags.
func (w *warmUp) addTo(flags *pflag.FlagSet) {
	w.least = 2 * time.Second
	flags.Var(w, "warm-up", "`length` of the warm-up before measuring, or \""+study.Steady+
		"\" to warm up until the load is steady")
	flags.DurationVar(&w.limit, "warm-up-limit", 0,
		"continue the warm-up until the load is steady, for this long at most (with --warm-up "+
			study.Steady+": 1m)")
}

// The methods of pflag.Value.

func (w *warmUp) String() string { return w.least.String() }
func (w *warmUp) Type() string   { return "length" }

func (w *warmUp) Set(text string) (err error) {
	if text == study.Steady {
		w.least = 0
		w.limit = cmp.Or(w.limit, study.WarmUpLimit*time.Second)
		return nil
	}
	w.least, err = time.ParseDuration(text)
	return err
}

// sequentialBlocks is the default of --blocks with --until.
const sequentialBlocks = 12

// sequentialFlags are the flags for experiments that analyse their data after every block.
type sequentialFlags struct {
	until  string
	within time.Duration
}

// addTo adds the flags.
func (f *sequentialFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.until, "until", "", fmt.Sprintf("stopping `rule`: \"decided\" analyses after every "+
		"block from %d on and plays no more trials for decided questions; --blocks is the maximum then "+
		"(default %d)", lab.FirstLook, sequentialBlocks))
	flags.DurationVar(&f.within, "within", 0,
		"time limit of an experiment with --until, e.g. 20m; it begins anew with --resume")
}

// apply returns the plan of an experiment that analyses its data after every block, if the flags ask for it.
// That plan has the blocks of the given one, with the same seeds, and further ones.
func (f *sequentialFlags) apply(plan lab.Plan, isSet func(flag string) bool) (lab.Plan, error) {
	if !isSet("until") {
		if isSet("within") {
			return plan, withCode(exitBadPlan,
				"--within limits an experiment that stops when it is decided: add --until %s", lab.UntilDecided)
		}
		return plan, nil
	}
	design := &plan.Study.Design
	if !isSet("blocks") {
		design.Blocks = sequentialBlocks
	}
	switch {
	case f.until != lab.UntilDecided:
		return plan, withCode(exitBadPlan, "--until is %q, expected %s", f.until, lab.UntilDecided)
	case design.Blocks <= lab.FirstLook || design.Blocks > lab.MostLooked:
		return plan, withCode(exitBadPlan, "--until %s looks from block %d on: --blocks is %d, expected a whole "+
			"number from %d to %d", f.until, lab.FirstLook, design.Blocks, lab.FirstLook+1, lab.MostLooked)
	case isSet("within") && (f.within < time.Second || f.within > study.Longest):
		return plan, withCode(exitBadPlan, "--within is %v, expected 1s to %.0fh", f.within, study.Longest.Hours())
	}
	design.Until = f.until
	design.Within = f.within.Seconds()
	plan.Study.Took = 0
	return study.Expand(plan.Study, plan.Profile, plan.Created)
}
