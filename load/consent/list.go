package consent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/load/schedule"
)

// Limits of an allow list.
const (
	MaxList     = 64 << 10 // bytes
	maxEntries  = 100
	minToken    = 16 // characters
	maxToken    = 128
	maxLifetime = 366 * 24 * time.Hour
)

// Permission is one entry of the allow list: somebody answers for load on a host.
type Permission struct {
	Host    string // name or address, exactly as in the URL
	Ports   []uint16
	Owner   string  // who agrees, and how to reach them
	MaxRate float64 // operations per second
	Hours   Hours
	Expires time.Time // the permission ends then
	Token   string    // that the host serves at ProofPath
}

// entry is a permission as it is written in the list.
type entry struct {
	Host    string   `yaml:"host"`
	Ports   []uint16 `yaml:"ports"`
	Owner   string   `yaml:"owner"`
	MaxRate string   `yaml:"max_rate"`
	Hours   string   `yaml:"hours"`
	Expires string   `yaml:"expires"`
	Token   string   `yaml:"token"`

	line int
}

// UnmarshalYAML notes the line of an entry. It refuses unknown keys itself, since a decoder
// that is called by it does not.
func (e *entry) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			switch key := node.Content[i]; key.Value {
			case "host", "ports", "owner", "max_rate", "hours", "expires", "token":
			default:
				return fmt.Errorf("line %d: unknown key %q: use host, ports, owner, max_rate, hours, expires, token",
					key.Line, key.Value)
			}
		}
	}
	type bare entry
	if err := node.Decode((*bare)(e)); err != nil {
		return err
	}
	e.line = node.Line
	return nil
}

// ReadList reads an allow list and names all mistakes with their line.
func ReadList(in io.Reader, name string) ([]Permission, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxList+1))
	if err != nil {
		return nil, fmt.Errorf("allow list %s: %w", name, err)
	}
	if len(text) > MaxList {
		return nil, fmt.Errorf("allow list %s: longer than %d bytes", name, MaxList)
	}
	var file struct {
		Allow []entry `yaml:"allow"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	switch err := decoder.Decode(&file); {
	case errors.Is(err, io.EOF): // the list is empty
	case err != nil:
		return nil, fmt.Errorf("allow list %s: %w", name, err)
	case !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF):
		return nil, fmt.Errorf("allow list %s: more than one document: write all entries into the first", name)
	}
	if len(file.Allow) > maxEntries {
		return nil, fmt.Errorf("allow list %s: %d entries, more than %d", name, len(file.Allow), maxEntries)
	}
	var all []Permission
	var mistakes []error
	for _, e := range file.Allow {
		p, wrong := e.permission()
		for _, w := range wrong {
			mistakes = append(mistakes, fmt.Errorf("%s:%d: %w", name, e.line, w))
		}
		all = append(all, p)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return all, nil
}

// permission checks an entry.
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

// checkToken refuses a token that could be guessed or cut.
func checkToken(token string) error {
	if len(token) < minToken || len(token) > maxToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("token has %d characters: use %d to %d random ones, letters and digits", len(token),
			minToken, maxToken)
	}
	return nil
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
