package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Host describes this machine and observes its condition, one trial after another. Use NewHost.
type Host struct {
	version string // of Cleave, set by the linker; empty: unknown
	// root is a folder with the files of another machine, for tests; empty: /.
	root string
	// calibrated is the last calibration: its duration in seconds, and its time.
	calibrated struct {
		seconds float64
		at      time.Time
	}
}

// NewHost returns this machine. version is the version of Cleave, for example "v1.2.0-3-g1a2b3c4".
func NewHost(version string) *Host { return &Host{version: version} }

// read returns the text of a file, trimmed.
func (h *Host) read(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join("/", h.root, path))
	if err != nil {
		// The path in the error would include the root.
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// exists reports whether a path exists.
func (h *Host) exists(path string) bool {
	_, err := os.Stat(filepath.Join("/", h.root, path))
	return err == nil
}

// unavailable returns a fact without a value, with the reason.
func unavailable(format string, arguments ...any) lab.Fact {
	return lab.Fact{Unavailable: fmt.Sprintf(format, arguments...)}
}

// asFact returns a text as a fact, or the error as the reason for its absence.
func asFact(text string, err error) lab.Fact {
	if err != nil {
		return unavailable("%v", err)
	}
	return lab.Fact{Value: text}
}

// numberOf returns the whole number in a file as a fact.
func (h *Host) numberOf(path string) lab.Fact {
	text, err := h.read(path)
	if err != nil {
		return unavailable("%v", err)
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return unavailable("%s holds %q, want a whole number", path, text)
	}
	return lab.Fact{Value: value}
}

// chosen returns the word in square brackets in a file such as "always [madvise] never".
func (h *Host) chosen(path string) lab.Fact {
	text, err := h.read(path)
	if err != nil {
		return unavailable("%v", err)
	}
	_, rest, opened := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !opened || !closed {
		return unavailable("%s holds %q, want one word in square brackets", path, text)
	}
	return lab.Fact{Value: word}
}

// keyed returns the value of a key, without quotes, from a file of lines "key<blanks>separator<blanks>value".
func (h *Host) keyed(path, key, separator string) (string, error) {
	text, err := h.read(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, separator)
		if found && strings.TrimSpace(name) == key {
			return strings.Trim(strings.TrimSpace(value), `"`), nil
		}
	}
	return "", fmt.Errorf("%s has no line %q", path, key)
}
