package store

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/cleave-lab/cleave/lab"
	"github.com/google/renameio/v2"
)

// writeFile writes a file so that it appears whole or not at all.
func writeFile(path string, data []byte) error {
	err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path)))
	return explain(path, err)
}

// explain adds advice to a write error if the disk is full or permission is lacking.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of %s is full: make room, then continue with --resume: %w", filepath.Dir(path),
			err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return unwritable(filepath.Dir(path), err)
	}
	return err
}

// replaceDir moves a finished directory to its place, removes an older one there first, and flushes the
// parent to the disk.
func replaceDir(draft, place string) error {
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	if err := os.Rename(draft, place); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(place))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// unitsCSV returns units.csv: a row for each unit, followed by a row for each of its programs
// (lab.Metered.Processes). The cells of figures that are unavailable are empty.
func unitsCSV(metered lab.Metered) []byte {
	rows := [][]string{{
		"unit", "role", "pid", "cpu_seconds", "user_seconds", "system_seconds", "voluntary_context_switches",
		"involuntary_context_switches", "threads", "peak_memory_bytes", "mean_memory_bytes", "read_bytes",
		"written_bytes",
		"process", "processes", "received_bytes", "sent_bytes", "idle_cores",
	}}
	idle := func(cores float64) string { // "" if the units were not metered while idle
		if metered.IdleSeconds == 0 {
			return ""
		}
		return strconv.FormatFloat(cores, 'f', 6, 64)
	}
	for _, u := range metered.Units {
		cell := func(quantity, text string) string { // "" if the quantity is unavailable
			if _, missing := u.Unavailable[quantity]; missing {
				return ""
			}
			return text
		}
		rows = append(rows, []string{
			u.Unit.Name, u.Unit.Role, strconv.Itoa(u.Unit.PID),
			cell("cpu_seconds", seconds(u.CPUSeconds)), cell("user_seconds", seconds(u.UserSeconds)),
			cell("system_seconds", seconds(u.SystemSeconds)),
			cell("voluntary_context_switches", integer(u.VoluntaryContextSwitches)),
			cell("involuntary_context_switches", integer(u.InvoluntaryContextSwitches)),
			cell("threads", strconv.Itoa(u.Threads)),
			cell("peak_memory_bytes", integer(u.PeakMemoryBytes)),
			cell("mean_memory_bytes", integer(u.MeanMemoryBytes)),
			cell("read_bytes", integer(u.ReadBytes)), cell("written_bytes", integer(u.WrittenBytes)),
			"", "", "", "", cell("idle_cores", idle(u.IdleCores)),
		})
		for _, p := range metered.Processes {
			if p.Unit != u.Unit.Name {
				continue
			}
			rows = append(rows, []string{
				p.Unit, u.Unit.Role, "", seconds(p.CPUSeconds), "", "", "", "", "", integer(p.PeakMemoryBytes), "",
				integer(p.ReadBytes), integer(p.WrittenBytes),
				p.Name, strconv.Itoa(p.Processes), integer(p.ReceivedBytes), integer(p.SentBytes), "",
			})
		}
	}
	return encodeCSV(rows)
}

// seriesCSV returns series.csv: a row for each sample.
func seriesCSV(samples []lab.UsageSample) []byte {
	rows := [][]string{{"seconds", "cpu_seconds", "memory_bytes"}}
	for _, s := range samples {
		rows = append(rows, []string{seconds(s.Seconds), seconds(s.CPUSeconds), integer(s.MemoryBytes)})
	}
	return encodeCSV(rows)
}

// encodeCSV returns rows as CSV.
func encodeCSV(rows [][]string) []byte {
	var buffer bytes.Buffer
	writer := csv.NewWriter(&buffer)
	_ = writer.WriteAll(rows) // a buffer takes everything
	return buffer.Bytes()
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 9, 64) }

func integer(n int64) string { return strconv.FormatInt(n, 10) }
