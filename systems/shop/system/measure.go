package system

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// metrics of the shop, the headline first.
func metrics() []lab.Metric {
	lower := func(name, title, unit string) lab.Metric {
		return lab.Metric{Name: name, Title: title, Unit: unit, Better: lab.LowerIsBetter}
	}
	higher := func(name, title, unit string) lab.Metric {
		return lab.Metric{Name: name, Title: title, Unit: unit, Better: lab.HigherIsBetter}
	}
	return []lab.Metric{
		lower("response_time_p99", "99th percentile of the response time", "s"),
		higher("capacity", "highest rate of orders that meets the objective", "1/s"),
		lower("cpu_per_operation", "CPU time of shop and backing services per order", "s"),
		lower("response_time_p50", "median response time", "s"),
		lower("response_time_mean", "mean response time", "s"),
		higher("goodput", "orders per second with a right answer", "1/s"),
		lower("statements_per_order", "SQL statements per order", "1"),
		lower("rows_per_order", "rows read or changed per order", "1"),
		lower("peak_memory", "peak memory of shop and backing services", "B"),
	}
}

// Measure implements lab.Measurer. All but the generator is the shop's cost. A
// search plays many loads: only its capacity counts.
func (s System) Measure(_ context.Context, _ lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover) (lab.Measured, error) {
	load, err := s.loadReport(left.Reports)
	if err != nil {
		return lab.Measured{}, err
	}
	found := lab.Measured{Values: map[string]float64{}, Spectra: load.Spectra}
	if _, search := p.Level(SearchFrom); search {
		maps.Copy(found.Values, load.Measures)
		maps.DeleteFunc(found.Values, func(name string, _ float64) bool { return name != "capacity" })
		return found, nil
	}
	for _, m := range metrics() {
		if value, measured := load.Measures[m.Name]; measured {
			found.Values[m.Name] = value
		}
	}
	if load.OK == 0 {
		return found, nil
	}
	orders := float64(load.OK)
	cpu, memory := costs(metered)
	found.Values["cpu_per_operation"], found.Values["peak_memory"] = cpu/orders, memory
	if s.Load.WarmUp > 0 {
		return found, nil // the units' counters hold the warm-up's orders too
	}
	return found, addStatements(found.Values, left.Reports, orders)
}

// costs add up all roles but the generator's.
func costs(metered lab.Metered) (cpuSeconds, memoryBytes float64) {
	for role, used := range metered.Roles {
		if role != RoleGenerator {
			cpuSeconds += used.CPUSeconds
			memoryBytes += float64(used.PeakMemoryBytes)
		}
	}
	return cpuSeconds, memoryBytes
}

// addStatements divides what the units did in their databases by the orders.
func addStatements(measures map[string]float64, reports []lab.UnitReport, orders float64) error {
	var statements, rows int64
	for _, r := range reports {
		if r.Unit == RoleGenerator {
			continue
		}
		var said assembly.Report
		if err := json.Unmarshal(r.Data, &said); err != nil {
			return fmt.Errorf("report of unit %s: %w", r.Unit, err)
		}
		for _, c := range said.Databases {
			statements += c.Statements
			rows += c.RowsRead + c.RowsChanged
		}
	}
	if statements > 0 {
		measures["statements_per_order"], measures["rows_per_order"] = float64(statements)/orders, float64(rows)/orders
	}
	return nil
}
