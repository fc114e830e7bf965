package hosting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

// Tracer returns what makes the spans of a unit, for a share of the requests that begin there. It returns nil
// if the share is 0.
func Tracer(share float64) *spans.Provider {
	if share == 0 {
		return nil
	}
	return spans.NewProvider(share)
}

// HandOverSpans writes the spans of this process to its folder and hands them over; nothing for a nil tracer.
func HandOverSpans(channel *unit.Channel, tracer *spans.Provider) error {
	if tracer == nil {
		return nil
	}
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	name, err := unit.Name()
	if err != nil {
		return err
	}
	if err := tracer.Write(dir, name); err != nil {
		return err
	}
	return channel.HandOver(spans.File(dir, name))
}

// KeepSpans copies the span files that the units of a trial have left to where somebody wants them: into a
// folder that is named after its number, variant and point. Without a place to keep them it does nothing.
func KeepSpans(place string, v lab.Variant, p lab.Point, dir string) error {
	if place == "" {
		return nil
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	there, err := os.ReadDir(place)
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	names, err := spans.Files(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(place, fmt.Sprintf("%03d-%s-%s", len(there)+1, plain(v.Name), plain(p.Name)))
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep spans: %w", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("keep spans: %w", err)
		}
	}
	return nil
}

// plain returns a name with nothing in it that is special in paths.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
