package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
)

// TestEveryFlagDoesSomething checks every flag of every command with testdata/flags.txt. An unindented line
// is a command line; the lines below it, indented by two spaces, are flags to add to it, with the proof of
// their effect:
//
//	plan     the plan, or the output of --plan, changes
//	spec     the load that would be sent changes
//	output   the output of the command changes
//	writes   the command writes the file that the flag names
//	sets     the environment variable that the help names has the value
//	refused  the command ends with exit code 2 and names the flag, because its value is not valid
//
// URL stands for an address at which nothing listens, LIVE for one that answers, and RUN/NAME for the result
// folder of a command. PATH and DOCKER_HOST are such that programs and containers are missing: so commands
// that would play trials end at once.
func TestEveryFlagDoesSomething(t *testing.T) {
	known, err := os.ReadFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	live := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer live.Close()
	p := proofs{t: t, dir: proofFolder(t), known: map[string]bool{}, usual: map[string]string{}}
	t.Chdir(p.dir)
	t.Setenv("PATH", "/nonexistent") // so that this host lacks parts
	t.Setenv("DOCKER_HOST", "unix:///nonexistent")
	var line string
	runs := regexp.MustCompile(`RUN/(\w+)`)
	for row := range strings.Lines(strings.TrimSpace(string(known))) {
		row = strings.NewReplacer("\n", "", "URL", "http://127.0.0.1:1/", "LIVE", live.URL).Replace(row)
		row = runs.ReplaceAllString(row, "runs/$1/latest")
		rest, indented := strings.CutPrefix(row, "  ")
		if !indented {
			line = row
			continue
		}
		kind, flags, _ := strings.Cut(rest, " ")
		for flag := range strings.SplitSeq(strings.TrimSpace(flags), "  ") {
			p.prove(line, kind, flag)
		}
	}
	for _, name := range unproven(newRoot(nil, nil, nil), p.known) {
		t.Errorf("%s: say in testdata/flags.txt what it does, or delete it", name)
	}
}

// unproven returns the flags of a command and its subcommands that are not in known.
func unproven(command *cobra.Command, known map[string]bool) (all []string) {
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name := command.CommandPath() + " --" + f.Name; !known[name] {
			all = append(all, name)
		}
	})
	for _, below := range command.Commands() {
		all = append(all, unproven(below, known)...)
	}
	return all
}

func TestAFlagThatDoesNothingIsFound(t *testing.T) {
	root := &cobra.Command{Use: "cleave"}
	root.Flags().Bool("idle", false, "do nothing")
	if got := unproven(root, nil); !slices.Equal(got, []string{"cleave --idle"}) {
		t.Errorf("unproven are %q", got)
	}
}

// proofs proves the effects of flags.
type proofs struct {
	t     *testing.T
	dir   string            // the folder of the commands
	known map[string]bool   // the checked flags, such as "cleave run --plan"
	usual map[string]string // the result of a command line without the flag, by kind and line
}

// prove checks that a flag has an effect of this kind, if it is added to a command line.
func (p *proofs) prove(line, kind, flag string) {
	p.t.Helper()
	args := strings.Fields(line)
	added := strings.Fields(flag)
	command, _, err := newRoot(nil, nil, nil).Find(args)
	if err != nil {
		p.t.Fatal(err)
	}
	flagName, _, _ := strings.Cut(strings.TrimPrefix(added[0], "--"), "=")
	f := command.Flags().Lookup(flagName)
	if f == nil {
		p.t.Errorf("%s: there is no flag %s", line, added[0])
		return
	}
	name := command.CommandPath() + " --" + f.Name
	p.known[name] = true
	acts := false
	switch with := slices.Concat(args, added); kind {
	case "plan":
		acts = p.differs(p.document, "document", args, with) || p.differs(p.planText, "text", args, with)
	case "spec":
		acts = p.differs(p.spec, kind, args, with)
	case "output":
		acts = p.differs(p.output, kind, args, with)
	case "writes":
		_ = p.output(with...)
		written, err := os.Stat(added[1])
		acts = err == nil && written.Size() > 0
	case "sets":
		acts = p.sets(f, with)
	case "refused":
		_, _, err := p.run(with...)
		acts = exitCode(err) == exitBadPlan && strings.Contains(err.Error(), f.Name)
	}
	if !acts {
		p.t.Errorf("%s does nothing that can be seen as %s", name, kind)
	}
}

// differs reports whether the result of a command line differs with a flag. It fails the test if the result
// without the flag is not always the same.
func (p *proofs) differs(result func(...string) string, kind string, args, with []string) bool {
	p.t.Helper()
	key := kind + " " + strings.Join(args, " ")
	if _, done := p.usual[key]; !done {
		first := result(args...)
		p.usual[key] = result(args...)
		if p.usual[key] != first { // perhaps because the first call created files
			if again := result(args...); again != p.usual[key] {
				p.t.Fatalf("%s: the result changes with each call:\n%s\n%s", key, p.usual[key], again)
			}
		}
	}
	return result(with...) != p.usual[key]
}

// sets reports whether a flag sets the variable that its help names.
func (p *proofs) sets(f *pflag.Flag, with []string) bool {
	variable := regexp.MustCompile(`\((\w+)\)$`).FindStringSubmatch(f.Usage)[1]
	for _, name := range []string{variable, kubernetes.ContextVariable} {
		p.t.Setenv(name, "") // restores the variable at the end of the test
		if err := os.Unsetenv(name); err != nil {
			p.t.Fatal(err)
		}
		defer os.Unsetenv(name)
	}
	_ = p.planText(with...)
	return os.Getenv(variable) == with[len(with)-1]
}

// run runs a command in this process.
func (p *proofs) run(args ...string) (out, errOut string, err error) {
	var outBuffer, errBuffer bytes.Buffer
	root := newRoot(strings.NewReader(""), &outBuffer, &errBuffer)
	root.SetArgs(args)
	err = root.ExecuteContext(p.t.Context())
	return outBuffer.String(), errBuffer.String(), err
}

// document returns the plan of a command line, without its time.
func (p *proofs) document(args ...string) string {
	document, _, err := p.run(slices.Concat(args, []string{"--plan", "--json", "-"})...)
	return fmt.Sprint(regexp.MustCompile(`"created": .*`).ReplaceAllString(document, ""), err)
}

// planText returns the output of a command line with --plan.
func (p *proofs) planText(args ...string) string {
	out, errOut, err := p.run(slices.Concat(args, []string{"--plan"})...)
	return fmt.Sprint(out, errOut, err)
}

// spec returns the load of a command line, and the commands of its agents. For model it returns the study,
// and for predict the question, since an answer takes seconds of simulation.
func (p *proofs) spec(args ...string) string {
	switch args[0] {
	case modelName:
		return p.modelPlan(args[1:])
	case "predict":
		return p.question(args[1:])
	}
	var flags loadFlags
	command := &cobra.Command{}
	flags.register(command)
	if err := command.ParseFlags(args[1:]); err != nil {
		p.t.Fatal(err)
	}
	spec, limit, mistakes := flags.read(command.Flags().Arg(0))
	agents, err := flags.agentCommands()
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprint(string(text), len(spec.Guard.Allowed), limit, agents, mistakes)
}

// output returns the output of the program, its exit code, and the names of all files afterwards.
func (p *proofs) output(args ...string) string {
	code, printed := finish(p.t, program("", args...))
	var files []string
	if err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		files = append(files, path)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprint(printed, code, files)
}

// question returns the question of a command line of predict.
func (p *proofs) question(args []string) string {
	var flags predictFlags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.addTo(set)
	if err := set.Parse(args); err != nil {
		p.t.Fatal(err)
	}
	asked, err := flags.question(set.Arg(0))
	text, encoding := json.Marshal(asked)
	return fmt.Sprint(string(text), err, encoding)
}

// modelPlan returns the study behind the model of a system, which no document shows.
func (p *proofs) modelPlan(args []string) string {
	var flags modelFlags
	command := &cobra.Command{}
	flags.register(command)
	if err := command.ParseFlags(args); err != nil {
		p.t.Fatal(err)
	}
	var plan lab.Plan
	var err error
	if system, ours := systemNamed[lab.Modelled](command.Flags().Arg(0), systemSettings{}); ours {
		plan, err = flags.plan(system)
	} else {
		plan, err = flags.foreignPlan(p.t.Context(), command.Flags().Args())
	}
	text, encoding := json.Marshal(plan.Study)
	return fmt.Sprint(string(text), flags.builds, err, encoding)
}

// proofFolder returns a folder with the files that testdata/flags.txt names, and with complete runs of
// commands.
func proofFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"../../load/convert/testdata", "../../predict/testdata", "testdata/traces"} {
		if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, dir, map[string]string{
		"own.yaml": "schema: cleave-study/1\nname: own\ntitle: A test\nsystem: shop\nbaseline: a\nvariants:\n" +
			"  a: {architecture: sync}\n  b: {architecture: sync-tuned}\n" +
			"points: {p: {rate: 20}, q: {rate: 30}}\nload: {duration: 1s}\nquick: {blocks: 2}\n",
		"lacks.yaml": "schema: cleave-study/1\nname: lacks\ntitle: A test\nsystem: shop\nbaseline: a\nvariants:\n" +
			"  a: {architecture: sync}\n  c: {architecture: monolith-ha}\n" +
			"points: {p: {rate: 20}}\nload: {duration: 1s}\n",
		"none.yaml": "schema: cleave-study/1\nname: none\ntitle: A test\nsystem: shop\nbaseline: a\nvariants:\n" +
			"  a: {architecture: monolith-ha}\npoints: {p: {rate: 20}}\nload: {duration: 1s}\n",
		"x.yaml":   "schema: cleave-system/1\nname: x\ncommand: [./server, \"{port}\"]\n",
		"y.yaml":   "schema: cleave-system/1\nname: y\ncommand: [./server, \"{port}\"]\n",
		"old.yaml": "name: old\nservices:\n  web: {image: \"web:1\", ports: [\"80\", \"81\"]}\n",
		"new.yaml": "name: new\nservices:\n  web: {image: \"web:2\", ports: [\"80\", \"81\"]}\n",
		"two.yaml": "name: two\nservices:\n  web: {image: \"web:2\", ports: [\"80\", \"81\"], " +
			"deploy: {replicas: 2}}\n",
		"built.yaml": "name: built\nservices:\n  web: {build: ., ports: [\"80\"]}\n",
		"power.yaml": "name: power\nservices:\n  web: {image: web, privileged: true, ports: [\"80\"]}\n",
		"flow.yaml": "schema: cleave-scenario/1\nname: flow\ntarget: http://127.0.0.1:2\nflows:\n" +
			"  - {name: f, steps: [{request: GET /}]}\n",
		"prices.yaml": "schema: cleave-prices/1\ncurrency: EUR\ncore_hour: 0.1\nmemory_gib_hour: 0.1\n",
		"list.yaml": "allow:\n  - {host: shop.example.org, ports: [443], owner: Jane <jane@example.org>, " +
			"max_rate: 9/s,\n     hours: always, expires: " + time.Now().AddDate(0, 1, 0).Format(time.DateOnly) +
			", token: 4f0c1a8be6d94c7fa1b2}\n",
		"arrivals.txt": "0\n", "ca.pem": "none", "kept.yaml": "kept",
	})
	compare := []string{"compare", "a=http://127.0.0.1:1/", "b=http://127.0.0.1:2/", "--rate", "10",
		"--blocks", "3"}
	sent := createRun(t, filepath.Join(dir, "sent"), "compare", filepath.Join(dir, "x.yaml"),
		filepath.Join(dir, "y.yaml"), "--rate", "10", "--blocks", "3", "--deploy", "docker-host")
	if err := os.Remove(sent.Path("plan.seal")); err != nil {
		t.Fatal(err)
	}
	createRun(t, dir, compare...)
	createRun(t, dir, "reproduce", "rego2021", "--quick", "--points", "s1")
	createRun(t, dir, "run", filepath.Join(dir, "own.yaml"), "--blocks", "3")
	createRun(t, dir, "explain", "shop", "--blocks", "3")
	createRun(t, dir, "bottleneck", "people", "--blocks", "3")
	createRun(t, dir, "check", "shop", "--architecture", "sync,async")
	createRun(t, dir, "rehearse", filepath.Join(dir, "small.model.yaml"), "--split", "stock", "--blocks", "3")
	return dir
}

// createRun creates a result folder below dir, with the plan of a command line and trials with random values.
func createRun(t *testing.T, dir string, args ...string) *store.Folder {
	t.Helper()
	plan := makePlan(t, args...)
	folder, err := store.Create(filepath.Join(dir, "runs"), plan, lab.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(4, 2))
	for i, p := range plan.Trials {
		noise := math.Exp(random.NormFloat64())
		point, _ := plan.Study.Point(p.Point)
		trial := lab.Trial{Schema: lab.TrialSchema, Number: i + 1, Attempt: 1, Block: p.Block, Variant: p.Variant,
			Point: point, Seed: p.Seed, Valid: true, Units: 1, Operations: 100, ElapsedSeconds: noise,
			LifetimeSeconds: 2 * noise, Metered: lab.Metered{Total: lab.Usage{CPUSeconds: noise}},
			Audit: lab.Audit{Verdict: lab.AuditValid}, Measures: map[string]float64{}}
		for _, m := range plan.Study.Metrics {
			trial.Measures[m.Name] = noise
		}
		if err := folder.Save(trial, nil); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
