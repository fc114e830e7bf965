package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/schedule"
)

// Kinds of arrivals in an open loop.
const (
	Constant = "constant"
	Poisson  = "poisson"
)

// Spec is a load as a user gives it.
type Spec struct {
	URL     string
	Unix    string // path of a socket to use instead of the URL's host
	Method  string
	Headers []string // "Name: value"
	Body    []byte
	Expect  engine.Expect

	Rate     float64       // operations per second of an open loop; zero: closed loop
	Arrivals string        // Constant or Poisson
	Seed     uint64        // of Poisson arrivals
	Users    int           // of a closed loop
	Think    time.Duration // between an answer and a user's next operation
	RampUp   time.Duration // over which the users begin

	Duration    time.Duration
	Connections int // of an open loop
	Timeout     time.Duration
	Pacing      engine.Pacing

	// Guard decides whether the target may be loaded. The zero value permits this
	// host's loopback only.
	Guard consent.Guard
}

// operation is the name of the one operation that a URL is.
func (s *Spec) operation() string { return s.Method + " " + s.URL }

// model is the load in words.
func (s *Spec) model() string {
	if s.Users > 0 {
		return fmt.Sprintf("closed, %d users, think time %v, ramp-up %v", s.Users, s.Think, s.RampUp)
	}
	return fmt.Sprintf("open, %s, %g/s, %d connections", s.Arrivals, s.Rate, s.Connections)
}

// plan is the schedule of an open loop.
func (s *Spec) plan() (schedule.Schedule, error) {
	switch s.Arrivals {
	case Constant:
		return schedule.Constant(s.Rate, s.Duration)
	case Poisson:
		return schedule.Poisson(s.Rate, s.Duration, s.Seed)
	}
	return schedule.Schedule{}, fmt.Errorf("arrivals %q are unknown: use %s or %s", s.Arrivals, Constant, Poisson)
}

// Prepare checks everything, asks whether the target may be loaded and builds
// the request. All mistakes are named at once.
func (s Spec) Prepare(ctx context.Context) (*Trial, error) {
	t := &Trial{spec: s}
	mistakes := []error{t.setLoad()}
	oracle, err := engine.NewOracle(s.Expect)
	mistakes = append(mistakes, err)
	t.oracle = oracle
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	if err := t.admit(ctx); err != nil {
		return nil, err
	}
	t.request, err = engine.BuildRequest(t.target, s.Method, s.Headers, s.Body)
	return t, err
}

// setLoad checks when operations begin.
func (t *Trial) setLoad() error {
	s := &t.spec
	switch {
	case (s.Rate > 0) == (s.Users > 0):
		return errors.New("give either a rate, for an open loop, or users, for a closed one")
	case s.Users > 0 && s.RampUp >= s.Duration:
		return fmt.Errorf("the ramp-up of %v is not shorter than the load of %v", s.RampUp, s.Duration)
	case s.Users > 0 && s.Pacing.Lateness() > 0:
		return fmt.Errorf("pacing %s belongs to an open loop: users act when they have thought", s.Pacing)
	case s.Users > 0:
		return nil
	}
	var err error
	t.plan, err = s.plan()
	return err
}

// at is the trial at another rate of an open loop.
func (t *Trial) at(rate float64, seed uint64) (*Trial, error) {
	other := *t
	other.spec.Rate, other.spec.Seed = rate, seed
	return &other, other.setLoad()
}

// admit finds the address and asks whether it may be loaded. It is resolved
// once: the ticket's address is the only one that is ever connected to.
func (t *Trial) admit(ctx context.Context) error {
	s := &t.spec
	if s.Unix != "" {
		t.ticket.Own = true // a file of this host
		target, err := engine.NewUnixTarget(s.URL, s.Unix)
		t.target = target
		return err
	}
	host, port, err := engine.SplitURL(s.URL)
	if err != nil {
		return err
	}
	guard := s.Guard
	if guard.Lookup == nil {
		guard.Lookup = lookUp
	}
	if guard.Fetch == nil {
		guard.Fetch = fetchProof
	}
	if guard.Now == nil {
		guard.Now = time.Now
	}
	t.ticket, err = guard.Admit(ctx, consent.Request{Scheme: "http", Host: host, Port: port, Rate: s.Rate, Duration: s.Duration})
	if err != nil {
		return err
	}
	t.target, err = engine.NewTarget(s.URL, t.ticket.Address)
	return err
}

// lookUp finds the addresses of a name. The resolver gives IPv4 addresses in
// IPv6 form, which the guard refuses from users.
func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, err
}

// fetchProof reads a proof from its address and nowhere else.
func fetchProof(ctx context.Context, p consent.Proof) (text []byte, err error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, p.Address.String())
		}},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Scheme+"://"+p.Address.String()+p.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Host = p.Host
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, consent.MaxProof+1))
}
