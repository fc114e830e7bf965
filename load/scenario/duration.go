package scenario

import (
	"fmt"
	"time"
)

// String returns the duration as scenarios write it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler, for YAML and JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a duration such as "150ms" or "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span < 0 {
		return fmt.Errorf("%q is no time span: write for example 150ms, 2s or 1m30s", text)
	}
	*d = Duration(span)
	return nil
}
