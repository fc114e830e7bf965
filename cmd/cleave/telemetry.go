package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/report/telemetry"
)

// outgoingSpans is the subfolder of an experiment's scratch folder that holds the spans for a collector.
const outgoingSpans = "spans"

// outFlag holds the destinations of live figures, which the repeatable flag --out names.
type outFlag []telemetry.Target

func (o *outFlag) addTo(flags *pflag.FlagSet) {
	flags.Var(o, "out", "send or offer figures while it runs: otlp=http://127.0.0.1:4318 or "+
		"prometheus=127.0.0.1:9464 (these addresses: otlp, prometheus); repeatable (docs/telemetry.md)")
}

// The methods of pflag.Value.

func (o *outFlag) String() string { return strings.Trim(fmt.Sprint([]telemetry.Target(*o)), "[]") }
func (o *outFlag) Type() string   { return "destination" }

func (o *outFlag) Set(text string) error {
	switch text {
	case "otlp":
		text = "otlp=http://127.0.0.1:4318"
	case "prometheus":
		text = "prometheus=127.0.0.1:9464"
	}
	target, err := telemetry.ParseTarget(text)
	*o = append(*o, target)
	return err
}

// openOuts opens the destinations of --out. end closes them, and warns of figures that did not arrive, which
// does not affect the measurement.
func (a app) openOuts(to outFlag) (outs *telemetry.Outs, end func(), err error) {
	if outs, err = telemetry.Open(to); err != nil {
		return nil, nil, withCode(exitBadPlan, "--out: %w", err)
	}
	return outs, func() {
		if err := outs.Close(); err != nil {
			a.warn("--out: %v", err)
		}
	}, nil
}

// spansIn returns a function that sends the spans below a folder, and then removes their files. Each trial
// has a subfolder of JSON Lines files there; every line is one document to send.
func spansIn(folder string) func(send func(document []byte)) error {
	return func(send func(document []byte)) error {
		names, err := fs.Glob(os.DirFS(folder), "*/*.jsonl")
		for _, name := range names {
			path := filepath.Join(folder, name)
			text, failed := os.ReadFile(path)
			for line := range bytes.Lines(text) {
				send(line)
			}
			err = errors.Join(err, failed, os.Remove(path))
		}
		return err
	}
}

// figures returns the figures of a second for other programs.
func (v *liveView) figures(m moment) []telemetry.Figure {
	const rate = "{operation}/s"
	all := []telemetry.Figure{
		{Name: "cleave.load.operations", Help: "operations sent", Total: true, Value: float64(v.sent)},
		{Name: "cleave.load.rate", Help: "operations sent in the last second", Unit: rate, Value: m.sent},
		{Name: "cleave.load.generator.cpu", Help: "processors that the generator used", Value: m.cpu / 100},
	}
	if v.due != nil {
		all = append(all, telemetry.Figure{Name: "cleave.load.rate_due", Help: "operations due in the last second",
			Unit: rate, Value: m.due})
	}
	for _, outcome := range record.Outcomes() {
		if outcome.IsError() {
			all = append(all, telemetry.Figure{Name: "cleave.load.errors", Help: "operations that failed", Total: true,
				Value: float64(v.errors[outcome]), Labels: map[string]string{"error": outcome.String()}})
		}
	}
	for _, metric := range []struct {
		name, help string
		times      record.Percentiles
	}{
		{"response_time", "time from when operations were due to their answers, in the last second", m.response},
		{"send_lateness", "how late operations were sent, in the last second", m.late},
	} {
		for quantile, seconds := range map[string]*float64{"0.5": metric.times.P50, "0.9": metric.times.P90,
			"0.99": metric.times.P99, "1": metric.times.Max} {
			if seconds != nil {
				all = append(all, telemetry.Figure{Name: "cleave.load." + metric.name, Help: metric.help, Unit: "s",
					Value: *seconds, Labels: map[string]string{"quantile": quantile}})
			}
		}
	}
	return all
}
