//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

const (
	// oneProcess is the architecture that the model is made of. The other placements share its database, too, so
	// that nothing but the placement changes.
	oneProcess = "sync placement=together data=shared"
	// modelRate is low for the shop.
	modelRate = 20
	// simulated is the number of operations behind each predicted figure.
	simulated = 100_000
)

// rateShares returns the rates as shares of the predicted capacity.
func rateShares() []float64 { return []float64{0.25, 0.5, 0.75} }

// player plays with the program cleave.
type player struct {
	effort
	cleave, results string // program and folder
	began           time.Time
}

// row is a placement at a rate.
type row struct {
	placement string
	rate      float64
	answer    *predict.Answer // nil: there was no time
	overload  string          // why there are no figures
	measured  truth
	rehearsed truth
}

// truth holds what was measured; 0 where nothing was.
type truth struct{ median, p99, cpu float64 }

// until returns a context that ends when a share of the time is over.
func (p player) until(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, p.began.Add(time.Duration(share*float64(p.within))))
}

// play makes the model, and a row for each placement at each rate. What takes too long is cut short, and the
// rows lack it.
func (p player) play(ctx context.Context) (rows []row, err error) {
	path := filepath.Join(p.results, "shop.model.yaml")
	modelled, cancel := p.until(ctx, 0.25)
	defer cancel()
	err = p.run(modelled, append([]string{"model", "shop", "--architecture", oneProcess, "--out", path, "--rate",
		strconv.Itoa(modelRate), "--blocks", strconv.Itoa(p.blocks), "--duration", p.length()}, p.gates...)...)
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
	hop, err := p.hop(modelled)
	if err != nil {
		return nil, err
	}
	rates, err := p.rates(modelled, m, hop)
	if err != nil {
		return nil, err
	}
	for _, placement := range p.placements {
		for _, rate := range rates {
			rows = append(rows, row{placement: placement, rate: rate})
		}
	}
	return rows, errors.Join(p.measure(ctx, rows, rates), p.predict(ctx, rows, m, hop),
		p.rehearse(ctx, rows, path, rates[len(rates)/2]))
}

// length returns the length of a load as flags and files have it.
func (p player) length() string { return strconv.Itoa(p.seconds) + "s" }

// hop measures a call over HTTP between two processes.
func (p player) hop(ctx context.Context) (*predict.Hop, error) {
	const name, way = "hop", "http-loopback"
	file := fmt.Sprintf("schema: cleave-study/1\nname: %s\ntitle: a call\nsystem: crossing\nbaseline: %s\n"+
		"variants:\n  %s: {architecture: http}\n  unix: {architecture: http, knobs: {over: unix}}\n"+
		"points: {one-caller: {callers: 1, calls: 20000}}\ndesign: {blocks: %d}\n", name, way, way, p.blocks)
	folder, err := p.study(ctx, name, file, p.gates)
	if err != nil {
		return nil, err
	}
	trials, err := folder.Trials()
	if err != nil {
		return nil, err
	}
	var cpu, wait []float64
	for _, t := range trials {
		if t.Valid && t.Variant == way {
			used := t.Metered.Total.CPUSeconds / float64(t.Operations)
			cpu = append(cpu, used)
			wait = append(wait, max(0, t.ElapsedSeconds/float64(t.Operations)-used))
		}
	}
	if len(cpu) == 0 {
		return nil, errors.New("no trial of a call between two processes counts: the host is too busy")
	}
	return &predict.Hop{CPU: stats.Median(cpu), Wait: stats.Median(wait), Source: "measured"}, nil
}

// study plays a study file and opens its folder, where there is one: that of a run cut short, too.
func (p player) study(ctx context.Context, name, file string, flags []string) (*store.Folder, error) {
	path := filepath.Join(p.results, name+".yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		return nil, err
	}
	played := p.run(ctx, append([]string{"run", path}, flags...)...)
	folder, err := store.Open(filepath.Join(p.results, "runs", name, "latest"))
	if err != nil {
		return nil, errors.Join(played, err)
	}
	return folder, nil
}

// run runs a command of cleave, and ends it with the context. Verdicts of cleave are no errors.
func (p player) run(ctx context.Context, arguments ...string) error {
	arguments = append(arguments, "--progress", "none", "--results", filepath.Join(p.results, "runs"))
	fmt.Fprintln(os.Stderr, "cleave", strings.Join(arguments, " "))
	command := exec.CommandContext(ctx, p.cleave, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	said, err := command.CombinedOutput()
	const firstVerdict, interrupted = 4, 130 // exit codes; with those between cleave has played
	code := command.ProcessState.ExitCode()
	if err == nil || ctx.Err() == nil && code >= firstVerdict && code < interrupted {
		return nil
	}
	const most = 2000
	return fmt.Errorf("cleave %s: %w\n%s", arguments[0], errors.Join(err, ctx.Err()),
		bytes.TrimSpace(said[max(0, len(said)-most):]))
}

// rates returns the rates at which all is held against the truth: shares of the lowest capacity that is
// predicted of the placement with the most calls between units; where none is, multiples of the low rate.
func (p player) rates(ctx context.Context, m model.Model, hop *predict.Hop) ([]float64, error) {
	longest := slices.MaxFunc(p.placements, func(a, b string) int { return len(a) - len(b) })
	a, err := p.question(ctx, m, hop, longest, modelRate)
	if err != nil {
		return nil, err
	}
	capacity := min(a.AsIs.Capacity.Value, a.Changed.Capacity.Value)
	if capacity == 0 {
		fmt.Fprintln(os.Stderr, "note: the model has no capacity:", strings.Join(a.Withheld, "; "))
		return []float64{modelRate, 2 * modelRate, 3 * modelRate}, nil
	}
	var rates []float64
	for _, share := range rateShares() {
		rates = append(rates, max(1, float64(int(share*capacity))))
	}
	return rates, nil
}

// question predicts a placement at a rate, whatever the self-check says.
func (p player) question(ctx context.Context, m model.Model, hop *predict.Hop, placement string, rate float64,
) (predict.Answer, error) {
	cores := float64(runtime.NumCPU())
	change := predict.Change{Split: predict.ParseGroups(placement)}
	return predict.Predict(ctx, predict.Question{Model: m, Change: change, Rate: rate, Cores: cores,
		MeasuredCores: cores, Hop: hop, Seed: 1, Operations: simulated, Always: true})
}

// predict fills in the predictions.
func (p player) predict(ctx context.Context, rows []row, m model.Model, hop *predict.Hop) error {
	ctx, cancel := p.until(ctx, 0.8)
	defer cancel()
	for i := range rows {
		fmt.Fprintf(os.Stderr, "predict %s at %g/s\n", rows[i].placement, rows[i].rate)
		a, err := p.question(ctx, m, hop, rows[i].placement, rows[i].rate)
		if err != nil {
			return fmt.Errorf("predict %s: %w", rows[i].placement, err)
		}
		if a.Changed.CPU.Value == 0 {
			rows[i].overload = strings.Join(a.Withheld, "; ")
			continue
		}
		rows[i].answer = &a
	}
	return nil
}

// measure plays all placements at all rates.
func (p player) measure(ctx context.Context, rows []row, rates []float64) error {
	ctx, cancel := p.until(ctx, 0.6)
	defer cancel()
	var file strings.Builder
	fmt.Fprintf(&file, "schema: cleave-study/1\nname: truth\ntitle: placements\nsystem: shop\n"+
		"baseline: together\nload: {duration: %s, warm_up: 1s}\ndesign: {blocks: %d}\nvariants:\n"+
		"  together: {architecture: sync, knobs: {placement: together, data: shared}}\n", p.length(), p.blocks)
	for i, placement := range p.placements {
		fmt.Fprintf(&file, "  %s: {architecture: sync, knobs: {placement: %q, data: shared}}\n", variantName(i),
			placement)
	}
	file.WriteString("points:\n")
	for i, rate := range rates {
		fmt.Fprintf(&file, "  r%d: {rate: %g}\n", i, rate)
	}
	folder, err := p.study(ctx, "truth", file.String(), p.gates)
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].measured, err = measuredIn(folder, variantName(i/len(rates)), rows[i].rate); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// variantName names the variant of a placement in the study file.
func variantName(placement int) string { return fmt.Sprintf("p%d", placement) }

// measuredIn returns the figures of a variant at a rate, as far as a result folder has them.
func measuredIn(folder *store.Folder, variant string, rate float64) (found truth, err error) {
	text, err := os.ReadFile(folder.Path(store.AnalysisFile))
	if err != nil {
		return found, err
	}
	var a lab.Analysis
	if err := json.Unmarshal(text, &a); err != nil {
		return found, err
	}
	for _, of := range []struct {
		quantity string
		quantile float64
		per      string
		to       *float64
	}{{lab.ResponseTime, 0.5, "", &found.median}, {lab.ResponseTime, 0.99, "", &found.p99},
		{lab.CPU, 0, lab.PerOperation, &found.cpu}} {
		m, _ := lab.FindMetric(a.Metrics, of.quantity, of.quantile, of.per)
		for _, r := range a.Results {
			if r.Variant == variant && r.Metric == m.Name && r.Point.Levels[lab.FactorRate] == rate {
				*of.to = r.Mean
			}
		}
	}
	return found, nil
}

// rehearse rehearses some placements at one of the rates.
func (p player) rehearse(ctx context.Context, rows []row, path string, rate float64) error {
	ctx, cancel := p.until(ctx, 0.95)
	defer cancel()
	for i := range rows {
		if rows[i].rate != rate || !slices.Contains(p.placements[:p.rehearsed], rows[i].placement) {
			continue
		}
		err := p.run(ctx, append([]string{"rehearse", path, "--split", rows[i].placement, "--rate",
			strconv.FormatFloat(rate, 'g', -1, 64), "--blocks", strconv.Itoa(p.blocks), "--duration", p.length(),
			"--warm-up", "1s"}, p.gates...)...)
		if err != nil {
			return err
		}
		folder, err := store.Open(filepath.Join(p.results, "runs", "rehearse", "latest"))
		if err != nil {
			return err
		}
		if rows[i].rehearsed, err = measuredIn(folder, "changed", rate); err != nil {
			return err
		}
	}
	return nil
}
