package consent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ProofPath is the path at which a target serves the token of its entry in the allow list.
const ProofPath = "/.well-known/cleave-load.txt"

// Proof says where to fetch a token. The fetcher must connect to Address and nowhere
// else, follow no redirect and read at most MaxProof bytes.
type Proof struct {
	Address netip.AddrPort
	Scheme  string // of the target
	Host    string // for checking a certificate: without a port
	Path    string
}

// MaxProof is the length of the longest proof, in bytes.
const MaxProof = 4096

// Guard decides which targets may get load.
type Guard struct {
	// Made are the addresses of hosts that Cleave made.
	Made []netip.Prefix
	// Allowed are the entries of the allow list.
	Allowed []Permission
	// Lookup finds all addresses of a name; it is called once for a target.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Reach returns the first address of a target that answers (RFC 8305); nil: the first one of Lookup is
	// used.
	Reach func(ctx context.Context, addresses []netip.AddrPort) (netip.AddrPort, error)
	// Fetch reads the token that a target serves; nil: only this host and hosts that Cleave made get load.
	Fetch func(ctx context.Context, p Proof) ([]byte, error)
	// Now is the wall clock.
	Now func() time.Time
}

// Request describes a load that needs permission.
type Request struct {
	Scheme   string
	Host     string // name or address, as in the URL, without brackets
	Port     uint16
	Rate     float64       // highest planned, operations per second; zero: not bounded by the plan
	Duration time.Duration // planned
}

// Ticket is the permission to send load.
type Ticket struct {
	// Addresses are the only ones to connect to, in the order to try them: those of this
	// host, or the one that gave the proof. Do not look the name up again: it may have
	// other addresses by then.
	Addresses []netip.AddrPort
	// Own: the target is this host or one that Cleave made. The bounds below are for other
	// targets.
	Own bool
	// MaxRate is in operations per second: begin no more flows than this permits. Later steps may exceed it.
	MaxRate float64
	Until   time.Time // stop then
}

// Refusal is the error of a target that gets no load.
type Refusal struct {
	Target string
	Why    string
	Next   string // what to do
}

// Error says why, and what to do.
func (r *Refusal) Error() string {
	return fmt.Sprintf("no load on %q: %s: %s", r.Target, r.Why, r.Next)
}

// refuse returns a *Refusal for the target of the request.
func (r Request) refuse(why, next string) error {
	return &Refusal{Target: fmt.Sprintf("%s:%d", r.Host, r.Port), Why: why, Next: next}
}

// Admit returns a ticket, or a *Refusal that says what to do.
func (g Guard) Admit(ctx context.Context, r Request) (Ticket, error) {
	if r.Port == 0 {
		return Ticket{}, r.refuse("port 0 is none", "use 1 to 65535")
	}
	addresses, err := g.resolve(ctx, r)
	if err != nil {
		return Ticket{}, err
	}
	foreign := 0
	for _, a := range addresses {
		if why := forbidden(a); why != "" {
			return Ticket{}, r.refuse(fmt.Sprintf("%s is %s", a, why),
				"use the address of a host of your own; no entry can permit this one")
		}
		if !g.own(a) {
			foreign++
		}
	}
	targets := make([]netip.AddrPort, len(addresses))
	for i, a := range addresses {
		targets[i] = netip.AddrPortFrom(a, r.Port)
	}
	switch foreign {
	case 0:
		return Ticket{Addresses: targets, Own: true}, nil
	case len(addresses):
		return g.permit(ctx, r, targets)
	}
	return Ticket{}, r.refuse(fmt.Sprintf("it has addresses of this host and of others: %v", addresses),
		"write the address instead of the name")
}

// resolve finds all addresses of the host, in the order to try them: the two families in
// turn, first the one that the resolver prefers (RFC 8305 section 4), each in a fixed
// order.
func (g Guard) resolve(ctx context.Context, r Request) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(r.Host); err == nil {
		return []netip.Addr{a}, nil
	}
	if why := badName(r.Host); why != "" {
		return nil, r.refuse(why, "write a host name in ASCII, or an address such as 127.0.0.1 or ::1")
	}
	addresses, err := g.Lookup(ctx, r.Host)
	if err != nil {
		return nil, fmt.Errorf("looking up %q: %w: check the name, or write the address", r.Host, err)
	}
	if len(addresses) == 0 {
		return nil, r.refuse("the name has no address", "check the name, or write the address")
	}
	var families [2][]netip.Addr
	for _, a := range addresses {
		family := 0
		if a.Is4() != addresses[0].Is4() {
			family = 1
		}
		families[family] = append(families[family], a)
	}
	var inTurn []netip.Addr
	slices.SortFunc(families[0], netip.Addr.Compare)
	slices.SortFunc(families[1], netip.Addr.Compare)
	for i := range addresses {
		for _, family := range families {
			if i < len(family) {
				inTurn = append(inTurn, family[i])
			}
		}
	}
	return inTurn, nil
}

// own reports whether an address is this host or a host that Cleave made.
func (g Guard) own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(g.Made, func(p netip.Prefix) bool { return p.Contains(a) })
}

// permit checks a load on a foreign host against its entry in the allow list and asks the host for the
// proof.
func (g Guard) permit(ctx context.Context, r Request, addresses []netip.AddrPort) (Ticket, error) {
	p, err := g.entry(r)
	if err != nil {
		return Ticket{}, err
	}
	until, err := p.check(r, g.Now())
	if err != nil {
		return Ticket{}, err
	}
	address := addresses[0]
	if g.Reach != nil && len(addresses) > 1 {
		if address, err = g.Reach(ctx, addresses); err != nil {
			return Ticket{}, err
		}
	}
	if err := g.prove(ctx, r, p, address); err != nil {
		return Ticket{}, err
	}
	return Ticket{Addresses: []netip.AddrPort{address}, MaxRate: p.MaxRate, Until: until}, nil
}

// entry returns the entry of the allow list for the host and port of a request.
func (g Guard) entry(r Request) (Permission, error) {
	host := plain(r.Host)
	known := false
	for _, p := range g.Allowed {
		if plain(p.Host) != host {
			continue
		}
		if slices.Contains(p.Ports, r.Port) {
			return p, nil
		}
		known = true
	}
	if known {
		return Permission{}, r.refuse("its entry in the allow list is not for this port",
			"ask its owner and add the port to the entry")
	}
	return Permission{},
		r.refuse("it is neither this host nor one that Cleave made, and it is not in the allow list",
			"if its owner agrees, add an entry (docs/consent.md), or run the target here")
}

// prove fetches the token from the same address that would get the load, and compares it with the
// entry's.
func (g Guard) prove(ctx context.Context, r Request, p Permission, address netip.AddrPort) error {
	if g.Fetch == nil {
		return errors.New("consent: no way to fetch the proof of control")
	}
	text, err := g.Fetch(ctx, Proof{Address: address, Scheme: r.Scheme, Host: r.Host, Path: ProofPath})
	serve := fmt.Sprintf("have the target serve the token of its entry, alone, at %s", ProofPath)
	if err != nil {
		return fmt.Errorf("%w: %w", r.refuse("there is no proof that you control it", serve), err)
	}
	served := string(bytes.TrimSpace(text))
	if len(text) > MaxProof || served != p.Token {
		return r.refuse("what it serves as proof is not the token of its entry", serve)
	}
	return nil
}

// plain returns a host name in lower case and without a final dot, for comparing.
func plain(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }
