//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/stats"
	"github.com/cleave-lab/cleave/store"
)

// simulated is the number of operations behind each predicted figure.
const simulated = 100_000

// player plays a subject with the program cleave.
type player struct {
	subject
	effort
	cleave, results string // program and folder
	began           time.Time
}

// row is a target at a rate.
type row struct {
	of         subject
	target     target
	rate       float64
	answer     *predict.Answer // nil: there is none
	unanswered string          // why there is no answer; empty: there was no time
	measured   truth
	rehearsed  truth
}

// truth holds what was measured, by the figures of predict. The capacity is in operations per second.
type truth map[string]float64

// until returns a context that ends when a share of the time is over.
func (p player) until(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	part := time.Duration(share * float64(p.within))
	return context.WithDeadline(ctx, p.began.Add(part))
}

// play makes the model, and a row for each target at each rate. What takes too long is cut short, and the
// rows lack it.
func (p player) play(ctx context.Context) (rows []row, err error) {
	if err := os.MkdirAll(p.results, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(p.results, "as-is.model.yaml")
	modelCtx, cancel := p.until(ctx, 0.25)
	defer cancel()
	_, err = p.folder(modelCtx, "model", append([]string{"model", p.system, "--architecture", p.design(p.from),
		"--out", path, "--rate", number(p.rate), "--blocks", strconv.Itoa(p.blocks), "--duration", p.length(),
		"--capacity"}, p.gates...)...)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := model.Parse(path, text)
	if err != nil {
		return nil, err
	}
	rates, err := p.rates(modelCtx, m)
	if err != nil {
		return nil, err
	}
	for _, to := range p.targets {
		for _, rate := range rates {
			rows = append(rows, row{of: p.subject, target: to, rate: rate})
		}
	}
	asIs, truthErr := p.measure(ctx, rows, rates)
	m.Measured = append(m.Measured, asIs...)
	return rows, errors.Join(truthErr, p.predict(ctx, rows, m, rates),
		p.rehearse(ctx, rows, m, rates[len(rates)/2]))
}

// number returns a number as flags and files have it.
func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// length returns the length of a load as flags and files have it.
func (p player) length() string { return strconv.Itoa(p.seconds) + "s" }

// changed is the variant of a rehearsal with the other placement.
const changed = "changed"

// rehearsal rehearses a target of a model at a rate, and opens its result folder.
func (p player) rehearsal(ctx context.Context, step, path string, to target, rate float64,
) (*store.Folder, error) {
	return p.folder(ctx, step, slices.Concat([]string{"rehearse", path}, to.flags(), []string{"--calls", p.calls,
		"--rate", number(rate), "--blocks", strconv.Itoa(p.blocks), "--duration", p.length(), "--warm-up", "1s",
		"--capacity"}, p.gates)...)
}

// folder plays a command of cleave as a step, and opens its result folder, also if the end of the context cut
// a run short. A step that an earlier bench has played to its end, with the same command, is not played
// again.
func (p player) folder(ctx context.Context, step string, arguments ...string) (*store.Folder, error) {
	results := filepath.Join(p.results, step)
	whole := filepath.Join(results, "played-as-a-whole")
	var played error
	command := strings.Join(arguments, " ")
	if before, err := os.ReadFile(whole); err != nil || string(before) != command {
		played = errors.Join(os.RemoveAll(results), p.run(ctx, append(arguments, "--results", results)...))
		if played == nil {
			played = os.WriteFile(whole, []byte(command), 0o600)
		}
	}
	latest, _ := fs.Glob(os.DirFS(results), "*/latest") // the pattern is right
	isCutShort := arguments[0] == "run" && ctx.Err() != nil
	hasFailed := played != nil && !isCutShort
	if hasFailed || len(latest) == 0 {
		return nil, cmp.Or(played, fmt.Errorf("cleave %s left nothing in %s", arguments[0], results))
	}
	return store.Open(filepath.Join(results, latest[0]))
}

// run runs a command of cleave, and ends it with the context. Verdicts of cleave are no errors.
func (p player) run(ctx context.Context, arguments ...string) error {
	arguments = append(arguments, "--progress", "none")
	fmt.Fprintln(os.Stderr, "cleave", strings.Join(arguments, " "))
	command := exec.CommandContext(ctx, p.cleave, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	said, err := command.CombinedOutput()
	const firstVerdict, interrupted = 4, 130 // exit codes; those from the first to below the second are verdicts
	code := command.ProcessState.ExitCode()
	isVerdict := code >= firstVerdict && code < interrupted
	if err == nil || isVerdict && ctx.Err() == nil {
		return nil
	}
	const most = 2000
	return fmt.Errorf("cleave %s: %w\n%s", arguments[0], errors.Join(err, ctx.Err()),
		bytes.TrimSpace(said[max(0, len(said)-most):]))
}

// rates returns the rates at which placements are measured, predicted and rehearsed: those of an earlier
// bench, if its results are used again.
func (p player) rates(ctx context.Context, m model.Model) (rates []float64, err error) {
	path := filepath.Join(p.results, "rates.json")
	if text, err := os.ReadFile(path); err == nil {
		err = json.Unmarshal(text, &rates)
		return rates, err
	}
	if rates, err = p.chosenRates(ctx, m); err != nil {
		return nil, err
	}
	text, err := json.Marshal(rates)
	return rates, errors.Join(err, os.WriteFile(path, text, 0o600))
}

// chosenRates returns shares of a predicted capacity: the lower one of the model and of its most divided
// placement, which has the longest text. It returns multiples of p.rate if there is no such prediction.
func (p player) chosenRates(ctx context.Context, m model.Model) ([]float64, error) {
	longest := slices.MaxFunc(p.targets, func(a, b target) int { return len(a.placement) - len(b.placement) })
	of, err := p.pattern(m, longest)
	if err != nil {
		return nil, err
	}
	hop, err := p.hop(ctx, m, of, []float64{p.rate})
	if err != nil {
		return nil, err
	}
	a, err := p.predictOne(ctx, m, hop, longest, p.rate)
	if err != nil {
		return nil, err
	}
	capacity := min(a.AsIs.Capacity.Value, a.Changed.Capacity.Value)
	if capacity == 0 {
		fmt.Fprintln(os.Stderr, "note: the model has no capacity:", strings.Join(a.Withheld, "; "))
		return []float64{p.rate, 2 * p.rate, 3 * p.rate}, nil
	}
	var rates []float64
	for _, share := range []float64{0.25, 0.5, 0.75} {
		rates = append(rates, p.perFlow*max(1, math.Floor(share*capacity/p.perFlow))) // loads count whole flows
	}
	return rates, nil
}

// predictOne predicts a target at a rate, whatever the self-check says. Each component has a database of its
// own, as it has in what is measured.
func (p player) predictOne(ctx context.Context, m model.Model, hop *predict.Hop, to target, rate float64,
) (predict.Answer, error) {
	cores := float64(runtime.NumCPU())
	return predict.Predict(ctx, predict.Question{Model: m, Change: to.change(), Rate: rate, Cores: cores,
		MeasuredCores: cores, Hop: hop, Seed: 1, Operations: simulated, Always: true})
}

// predict fills in the predictions.
func (p player) predict(ctx context.Context, rows []row, m model.Model, rates []float64) error {
	ctx, cancel := p.until(ctx, 0.8)
	defer cancel()
	hops := map[pattern]*predict.Hop{}
	for i := range rows {
		of, err := p.pattern(m, rows[i].target)
		if err != nil {
			return err
		}
		if _, tried := hops[of]; !tried {
			if hops[of], err = p.hop(ctx, m, of, rates); ctx.Err() != nil {
				return cmp.Or(err, ctx.Err())
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "note:", err)
			}
		}
		if hops[of] == nil {
			rows[i].unanswered = "the price of a call could not be measured"
			continue
		}
		fmt.Fprintf(os.Stderr, "predict %s at %g/s\n", rows[i].target, rows[i].rate)
		a, err := p.predictOne(ctx, m, hops[of], rows[i].target, rows[i].rate)
		if err != nil {
			return fmt.Errorf("predict %s: %w", rows[i].target, err)
		}
		if a.Changed.CPU.Value == 0 { // an answer without figures: the system cannot keep up
			rows[i].unanswered = strings.Join(a.Withheld, "; ")
			continue
		}
		rows[i].answer = &a
	}
	return nil
}

const (
	// asItIs is the variant with the placement of the model.
	asItIs = "as-it-is"
	// users is the number of users who never think, in loads that take a placement to its capacity.
	users = 64
)

// measure plays all placements at all rates and at their capacity. It returns the measurements of the
// placement of the model.
func (p player) measure(ctx context.Context, rows []row, rates []float64) ([]model.Measurement, error) {
	ctx, cancel := p.until(ctx, 0.6)
	defer cancel()
	var file strings.Builder
	fmt.Fprintf(&file, "schema: cleave-study/1\nname: truth\ntitle: placements\nsystem: %s\n"+
		"baseline: %s\nload: {duration: %s, warm_up: 1s}\ndesign: {blocks: %d}\nvariants:\n"+
		"  %s: %s\n", p.system, asItIs, p.length(), p.blocks, asItIs, p.variant(p.from))
	for i, to := range p.targets {
		fmt.Fprintf(&file, "  %s: %s\n", variantName(i), p.variant(to.placement))
	}
	file.WriteString("points:\n")
	for i, rate := range rates {
		fmt.Fprintf(&file, "  r%d: {rate: %g}\n", i, rate/p.perFlow)
	}
	fmt.Fprintf(&file, "  most: {users: %d}\n", users)
	path := filepath.Join(p.results, "truth.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return nil, err
	}
	folder, err := p.folder(ctx, "truth", append([]string{"run", path}, p.gates...)...)
	if err != nil {
		return nil, err
	}
	found, err := analysisOf(folder)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].measured = placed(found, variantName(i/len(rates)), rows[i].rate/p.perFlow)
		if rows[i].rate != rates[len(rates)/2] { // once for each placement
			delete(rows[i].measured, predict.FigureCapacity)
		}
	}
	asIs, err := p.asIs(folder)
	return asIs, errors.Join(err, ctx.Err())
}

// variantName names the variant of a target in the study file.
func variantName(target int) string { return fmt.Sprintf("p%d", target) }

// figuresOf returns the figure of each of predict.Quantities, by the name of its metric.
func figuresOf(metrics []lab.Metric) map[string]string {
	all := map[string]string{}
	for _, q := range predict.Quantities(metrics) {
		all[q.Metric.Name] = q.Figure
	}
	return all
}

// analysisOf reads the analysis of a result folder.
func analysisOf(folder *store.Folder) (a lab.Analysis, err error) {
	text, err := os.ReadFile(folder.Path(store.AnalysisFile))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// placed returns the figures of a variant at a rate, and its capacity.
func placed(a lab.Analysis, variant string, rate float64) truth {
	is := measuredIn(a, variant, lab.FactorRate, rate)
	is[predict.FigureCapacity] = measuredIn(a, variant, lab.FactorUsers, users)[predict.FigureCapacity]
	return is
}

// measuredIn returns the figures of a variant under a load, as far as an analysis has them: the medians over
// trials, since one of few that was disturbed would move a mean by any factor.
func measuredIn(a lab.Analysis, variant, factor string, level float64) truth {
	found := truth{}
	figures := figuresOf(a.Metrics)
	for _, r := range a.Results {
		figure, wanted := figures[r.Metric]
		if !wanted || r.Variant != variant {
			continue
		}
		if is, known := r.Point.Level(factor); known && is == level {
			found[figure] = stats.Median(r.Values)
		}
	}
	return found
}

// asIs returns the valid trials of the placement of the model, as measurements.
func (p player) asIs(folder *store.Folder) (all []model.Measurement, err error) {
	plan, err := folder.Plan()
	if err != nil {
		return nil, err
	}
	trials, err := folder.Trials()
	if err != nil {
		return nil, err
	}
	goodput, _ := lab.FindMetric(plan.Study.Metrics, lab.Goodput, 0, "")
	for _, t := range trials {
		m, known := model.OfTrial(t, plan.Study.Metrics)
		if !t.Valid || t.Variant != asItIs || !known {
			continue
		}
		m.Rate *= p.perFlow
		if m.Users > 0 { // the load has no rate: what the placement achieved is its capacity
			m.Rate = t.Measures[goodput.Name]
		}
		all = append(all, m)
	}
	return all, nil
}

// rehearse rehearses some placements at one of the rates.
func (p player) rehearse(ctx context.Context, rows []row, m model.Model, rate float64) error {
	ctx, cancel := p.until(ctx, 0.95)
	defer cancel()
	path := filepath.Join(p.results, "rehearsed.model.yaml")
	m.Measured = slices.DeleteFunc(slices.Clone(m.Measured), // cleave rehearse plays every rate that is left
		func(of model.Measurement) bool { return of.Users == 0 && of.Rate != rate && of.Rate != p.rate })
	if err := writeModel(m, path); err != nil {
		return err
	}
	for i := range rows {
		if rows[i].rate != rate || !slices.Contains(p.targets[:min(p.rehearsed, len(p.targets))], rows[i].target) {
			continue
		}
		folder, err := p.rehearsal(ctx, "rehearse-"+strconv.Itoa(i), path, rows[i].target, rate)
		if err != nil {
			return err
		}
		if rows[i].rehearsed, err = rehearsed(folder, m, rate); err != nil {
			return err
		}
	}
	return nil
}

// writeModel writes a model to a file.
func writeModel(m model.Model, path string) error {
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// rehearsed returns what cleave rehearse answers of the changed placement, at a rate and at its capacity.
func rehearsed(folder *store.Folder, m model.Model, rate float64) (truth, error) {
	found, err := analysisOf(folder)
	if err != nil {
		return nil, err
	}
	is := truth{}
	figures := figuresOf(found.Metrics)
	for _, f := range predict.Rehearsed(found, changed, m, predict.Quantities(found.Metrics)) {
		load := predict.Load(f.Point)
		isAsked := load.Users > 0 || load.Rate == rate
		if isAsked && f.Changed != nil {
			is[figures[f.Metric]] = f.Changed.Value
		}
	}
	return is, nil
}
