package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// keepSpans copies the span files of a trial to where somebody wants them: into a
// folder that is named after its number, variant and point.
func (s System) keepSpans(v lab.Variant, p lab.Point, dir string) error {
	if s.Spans == "" {
		return nil
	}
	if err := os.MkdirAll(s.Spans, 0o755); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	there, err := os.ReadDir(s.Spans)
	if err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	names, err := spans.Files(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(s.Spans, fmt.Sprintf("%03d-%s-%s", len(there)+1, plain(v.Name), plain(p.Name)))
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
