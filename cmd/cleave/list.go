package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// inventory is everything that can be named on the command line or in a study.
type inventory struct {
	Studies []listedStudy    `json:"studies"`
	Systems []lab.SystemInfo `json:"systems"`
	Metrics []lab.Metric     `json:"metrics"`
}

// listedStudy is a built-in study with the names of its points.
type listedStudy struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Source string   `json:"source"`
	Points []string `json:"points"`
}

func (a app) listCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list [SYSTEM]",
		Short:   "list studies and systems; of a system its knobs, parameters and metrics",
		Example: "  cleave list\n  cleave list shop",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := takeInventory()
			if err != nil {
				return err
			}
			if len(args) > 0 {
				i := slices.IndexFunc(all.Systems, func(s lab.SystemInfo) bool { return s.Name == args[0] })
				if i < 0 {
					return withCode(exitBadPlan, "there is no system %q: cleave list names them all", args[0])
				}
				if asJSON {
					return writeJSON(a.out, all.Systems[i])
				}
				a.showSystem(all.Systems[i])
				return nil
			}
			if asJSON {
				return writeJSON(a.out, all)
			}
			a.showInventory(all)
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return command
}

// takeInventory returns all built-in studies, systems and metrics.
func takeInventory() (inventory, error) {
	all := inventory{Metrics: lab.JobMetrics()}
	infos := systemInfos("")
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		all.Systems = append(all.Systems, infos[name])
	}
	for _, name := range studies.Names() {
		file, err := builtIn(name)
		if err != nil {
			return all, err
		}
		all.Studies = append(all.Studies, listedStudy{name, file.Study.Title, file.Study.Source,
			study.NamesOf(file.Study.Points, pointName)})
	}
	return all, nil
}

// showInventory prints the names of all studies, systems and architectures, on one screen.
func (a app) showInventory(all inventory) {
	fmt.Fprintln(a.out, "Studies (cleave reproduce NAME)")
	for _, s := range all.Studies {
		a.row(nameWidth, s.Name, s.Title, "points "+strings.Join(s.Points, ", "))
	}
	fmt.Fprintln(a.out,
		"\nSystems and their architectures (cleave list SYSTEM: all knobs, parameters and metrics)")
	for _, system := range all.Systems {
		a.row(nameWidth, system.Name, system.Summary, strings.Join(architectureNames(system), ", "))
	}
}

// Widths of lists, in characters.
const (
	listWidth   = 100
	nameWidth   = 12
	knobWidth   = 18
	metricWidth = 32
)

// row prints a name and, in a second column, texts, each of which begins on a new line.
func (a app) row(width int, name string, texts ...string) {
	indent := ""
	for _, text := range texts {
		for _, line := range report.Wrap(text, listWidth-width-5) { // 5: the blanks of the format, and an indent
			fmt.Fprintf(a.out, "  %-*s %s%s\n", width, name, indent, line)
			name, indent = "", "  "
		}
	}
}

// showSystem prints all architectures, knobs, parameters and metrics of a system.
func (a app) showSystem(system lab.SystemInfo) {
	heading := fmt.Sprintf("System %s: %s", system.Name, system.Summary)
	fmt.Fprintln(a.out, strings.Join(report.Wrap(heading, listWidth-2), "\n  "))
	var knobs []lab.Knob // of all architectures; the first value is the default
	for _, architecture := range system.Architectures {
		var own []string // its defaults that differ from those in the list of knobs
		for _, knob := range architecture.Knobs {
			i := slices.IndexFunc(knobs, func(k lab.Knob) bool { return k.Name == knob.Name })
			if i < 0 {
				knobs = append(knobs, knob)
			}
			if i < 0 || knobs[i].Values[0] != knob.Values[0] {
				own = append(own, knob.Name+"="+knob.Values[0])
			}
		}
		texts := []string{architecture.Summary}
		if len(own) > 0 {
			texts = append(texts, strings.Join(own, " "))
		}
		a.row(knobWidth, architecture.Name, texts...)
	}
	fmt.Fprintln(a.out, "Knobs, and how they stand unless an architecture above says otherwise")
	for _, knob := range knobs {
		a.row(knobWidth, knob.Name, strings.Join(knob.Values, ", "), knob.Summary)
	}
	fmt.Fprintln(a.out, "Parameters")
	for _, p := range system.Parameters {
		a.row(knobWidth, p.Name, fmt.Sprintf("%s, %.0f to %.0f", p.Summary, p.Min, p.Max))
	}
	fmt.Fprintln(a.out, "Metrics")
	metrics := system.Metrics
	if len(metrics) == 0 {
		metrics = lab.JobMetrics()
	}
	for _, metric := range metrics {
		a.row(metricWidth, metric.Name, fmt.Sprintf("%s (%s)", metric.Title, metric.Unit))
	}
}
