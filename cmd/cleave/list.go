package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// inventory is everything that can be named on the command line or in a study.
type inventory struct {
	Studies []listedStudy    `json:"studies"`
	Systems []lab.SystemInfo `json:"systems"`
	Metrics []lab.Metric     `json:"metrics"`
}

type listedStudy struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Source string   `json:"source"`
	Points []string `json:"points"`
}

func (a app) listCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list",
		Short:   "list studies, systems with their architectures and knobs, and metrics",
		Example: "  cleave list",
		Args:    arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			all, err := takeInventory()
			if err != nil {
				return err
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

func takeInventory() (inventory, error) {
	all := inventory{Metrics: lab.JobMetrics()}
	infos := systemInfos()
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		all.Systems = append(all.Systems, infos[name])
	}
	for _, name := range studies.Names() {
		data, err := studies.Read(name)
		if err != nil {
			return all, err
		}
		file, err := study.Parse(name+".yaml", data, infos)
		if err != nil {
			return all, err
		}
		listed := listedStudy{Name: name, Title: file.Study.Title, Source: file.Study.Source}
		for _, p := range file.Study.Points {
			listed.Points = append(listed.Points, p.Name)
		}
		all.Studies = append(all.Studies, listed)
	}
	return all, nil
}

func (a app) showInventory(all inventory) {
	fmt.Fprintln(a.out, "Studies")
	for _, s := range all.Studies {
		fmt.Fprintf(a.out, "  %-18s %s\n  %-18s points %s\n", s.Name, s.Title, "", strings.Join(s.Points, ", "))
	}
	for _, system := range all.Systems {
		fmt.Fprintf(a.out, "\nSystem %s: %s\n", system.Name, system.Summary)
		for _, architecture := range system.Architectures {
			fmt.Fprintf(a.out, "  %-18s %s\n", architecture.Name, architecture.Summary)
			for _, knob := range architecture.Knobs {
				fmt.Fprintf(a.out, "  %-18s %s: %s (%s)\n", "", knob.Name, strings.Join(knob.Values, ", "), knob.Summary)
			}
		}
		fmt.Fprintln(a.out, "  parameters")
		for _, p := range system.Parameters {
			fmt.Fprintf(a.out, "  %-18s %s, %g to %g\n", p.Name, p.Summary, p.Min, p.Max)
		}
	}
	fmt.Fprintln(a.out, "\nMetrics")
	for _, metric := range all.Metrics {
		fmt.Fprintf(a.out, "  %-32s %s (%s)\n", metric.Name, metric.Title, metric.Unit)
	}
}
