package consent

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/yamlfile"
)

// Limits of an allow list.
const (
	MaxList     = 64 << 10 // bytes
	maxEntries  = 100
	minToken    = 16 // characters
	maxToken    = 128
	maxLifetime = 366 * 24 * time.Hour
)

// Permission is one entry of the allow list: its owner agrees to load on a host.
type Permission struct {
	Host    string // name or address, exactly as in the URL
	Ports   []uint16
	Owner   string  // the person who agrees, and how to reach them
	MaxRate float64 // operations per second
	Hours   Hours
	Expires time.Time // the permission ends then
	Token   string    // the host serves it at ProofPath
}

// entry is an entry as it is written in the list. permission reports what is missing.
type entry struct {
	Host    string   `yaml:"host,omitempty"`
	Ports   []uint16 `yaml:"ports,omitempty"`
	Owner   string   `yaml:"owner,omitempty"`
	MaxRate string   `yaml:"max_rate,omitempty"`
	Hours   string   `yaml:"hours,omitempty"`
	Expires string   `yaml:"expires,omitempty"`
	Token   string   `yaml:"token,omitempty"`
}

// ReadList reads an allow list. The error names all mistakes with their lines.
func ReadList(in io.Reader, name string) ([]Permission, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxList+1))
	if err != nil {
		return nil, fmt.Errorf("allow list %s: %w", name, err)
	}
	format := yamlfile.Small("allow list", "")
	format.MaxBytes = MaxList
	r := yamlfile.Reader{Format: format, File: name}
	var file struct {
		Allow yaml.Node `yaml:"allow,omitempty"`
	}
	var list []entry
	lines := map[string]int{}
	switch documents := r.Documents(text); {
	case len(documents) > 1:
		r.Problem(documents[1].Line, "more than one document: write all entries into the first")
	case len(documents) == 0 || documents[0].Tag == "!!null": // the list is empty, or cannot be read
	case documents[0].Kind == yaml.ScalarNode: // not a list: its text is not quoted in errors
		r.Problem(documents[0].Line, "this is a text, expected keys with values; start with: allow:")
	default:
		lines = r.Decode(documents[0], &file)
		if file.Allow.Kind != 0 && file.Allow.Tag != "!!null" { // all entries may be commented out
			r.DecodeAt("allow", &file.Allow, &list, lines)
		}
	}
	if len(list) > maxEntries {
		r.Problem(0, "%d entries, more than %d", len(list), maxEntries)
	}
	if err := r.Problems.OrNil(); err != nil {
		return nil, err
	}
	var all []Permission
	for i, e := range list {
		p, wrong := e.permission()
		for _, w := range wrong {
			r.Problem(lines[fmt.Sprintf("allow[%d]", i)], "%v", w)
		}
		all = append(all, p)
	}
	if err := r.Problems.OrNil(); err != nil {
		return nil, err
	}
	return all, nil
}

// permission returns the permission of an entry, and all mistakes in the entry.
func (e entry) permission() (Permission, []error) {
	p := Permission{Host: e.Host, Ports: e.Ports, Owner: strings.TrimSpace(e.Owner), Token: e.Token}
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	note(checkHost(e.Host))
	if len(e.Ports) == 0 {
		note(errors.New("ports are missing: write for example ports: [443]"))
	}
	if p.Owner == "" {
		note(errors.New("owner is missing: write who agrees to the load and how to reach them"))
	}
	note(checkToken(e.Token))
	var err error
	if p.MaxRate, err = schedule.ParseRate(e.MaxRate); err != nil {
		note(fmt.Errorf("max_rate: %w", err))
	}
	if p.Hours, err = ParseHours(e.Hours); err != nil {
		note(err)
	}
	if p.Expires, err = time.Parse(time.DateOnly, e.Expires); err != nil {
		note(fmt.Errorf("expires %q is not a date: write for example 2026-12-31, the first day without "+
			"permission (UTC)", e.Expires))
	}
	return p, wrong
}

// checkHost refuses a name or an address that can never be permitted.
func checkHost(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		if why := forbidden(address); why != "" {
			return fmt.Errorf("host %q is %s and cannot be permitted", host, why)
		}
		return nil
	}
	if why := badName(host); why != "" {
		return fmt.Errorf("host %q: %s", host, why)
	}
	return nil
}

// checkToken refuses a token that could be guessed or that could be cut off on its way.
func checkToken(token string) error {
	wrong := fmt.Sprintf("%d characters", len(token))
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		wrong = "blanks or characters outside of ASCII"
	} else if len(token) >= minToken && len(token) <= maxToken {
		return nil
	}
	return fmt.Errorf("token has %s: use %d to %d random letters and digits", wrong, minToken, maxToken)
}

// check compares a request with the permission and returns when the load must end.
func (p Permission) check(r Request, now time.Time) (until time.Time, err error) {
	if !now.Before(p.Expires) {
		return until, r.refuse("its entry expired on "+p.Expires.Format(time.DateOnly),
			"ask "+p.Owner+" and renew the entry")
	}
	if p.Expires.Sub(now) > maxLifetime {
		return until, r.refuse("its entry is valid for more than a year", "let it expire sooner")
	}
	if r.Rate == 0 {
		return until, r.refuse("the plan has no highest rate",
			fmt.Sprintf("use an open load of at most %g operations per second", p.MaxRate))
	}
	if !(r.Rate <= p.MaxRate) {
		return until, r.refuse(fmt.Sprintf("%g operations per second are planned and %g are permitted", r.Rate,
			p.MaxRate), "plan less, or ask "+p.Owner)
	}
	closes, open := p.Hours.Until(now)
	if !open {
		return until, r.refuse("load is permitted at "+p.Hours.String()+" only", "come back then")
	}
	until = p.Expires
	if closes.Before(until) {
		until = closes
	}
	if now.Add(r.Duration).After(until) {
		return until, r.refuse(fmt.Sprintf("%v of load would end after %s", r.Duration, until.Format(time.RFC3339)),
			"plan a shorter load, or begin earlier")
	}
	return until, nil
}
