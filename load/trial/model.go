package trial

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// Kinds of arrivals in an open loop.
const (
	constant = "constant"
	poisson  = "poisson"
	jittered = lab.JitteredArrivals
)

// defaultDuration is the default time in which flows are begun.
const defaultDuration = 10 * time.Second

// longest bounds every time of a load, so that sums of several do not overflow.
const longest = 7 * 24 * time.Hour

// model is the load model of a scenario.Load, ready to be played.
type model struct {
	open          schedule.Schedule // of an open loop
	users         int               // of a closed loop; zero: open
	think, rampUp time.Duration
	duration      time.Duration // flows begin before its end
	peak          float64       // highest planned rate, flows per second; zero in a closed loop
	even          bool          // flows are due at that rate all the time, evenly spaced
	text          string        // such as "open, poisson, 5000/s"
}

// newModel returns the model of a load. Paths of files are relative to dir.
func newModel(l scenario.Load, seed uint64, dir string) (model, error) {
	m := model{duration: cmp.Or(time.Duration(l.Duration), defaultDuration)}
	given := modelsIn(l)
	switch {
	case len(given) == 0:
		return m, errors.New("no load: give a rate, a ramp, steps, a spike or a replay for an open loop, or " +
			"users for a closed one")
	case len(given) > 1:
		return m, fmt.Errorf("%s exclude one another: give one of them", strings.Join(given, " and "))
	case m.duration < 0:
		return m, fmt.Errorf("the duration %v is not above zero", m.duration)
	case m.duration > longest:
		return m, tooLong("duration", m.duration)
	case l.Users != 0:
		err := m.setClosed(l)
		return m, err
	case l.Think != 0 || l.RampUp != 0:
		return m, errors.New("think and ramp-up belong to users: an open loop waits for nobody")
	}
	err := m.setOpen(l, dir)
	if err == nil {
		err = m.setArrivals(l.Arrivals, seed)
	}
	return m, err
}

// tooLong returns the error of a time of a load that is above the limit.
func tooLong(what string, d time.Duration) error {
	return fmt.Errorf("the %s %v is longer than %.0fh", what, d, longest.Hours())
}

// modelsIn returns the names of the load models that are set.
func modelsIn(l scenario.Load) []string {
	var given []string
	for _, one := range []struct {
		name string
		has  bool
	}{
		{"rate", l.Rate != ""}, {"ramp", l.Ramp != nil}, {"steps", l.Steps != nil}, {"spike", l.Spike != nil},
		{"replay", l.Replay != ""}, {"users", l.Users != 0},
	} {
		if one.has {
			given = append(given, one.name)
		}
	}
	return given
}

// setClosed reads the users of a closed loop.
func (m *model) setClosed(l scenario.Load) error {
	m.users = l.Users
	m.think = time.Duration(l.Think)
	m.rampUp = time.Duration(l.RampUp)
	m.text = fmt.Sprintf("closed, %d users, think time %v, ramp-up %v", m.users, m.think, m.rampUp)
	switch {
	case m.users < 0 || m.think < 0 || m.rampUp < 0:
		return fmt.Errorf("%d users, think time %v, ramp-up %v: none may be negative", m.users, m.think, m.rampUp)
	case m.think > longest:
		return tooLong("think time", m.think)
	case m.rampUp >= m.duration:
		return fmt.Errorf("the ramp-up of %v is not shorter than the load of %v", m.rampUp, m.duration)
	case l.Arrivals != "":
		return errors.New("arrivals belong to an open loop: users begin when they have thought")
	}
	return nil
}

// setOpen reads the rate over time.
func (m *model) setOpen(l scenario.Load, dir string) error {
	switch {
	case l.Ramp != nil:
		return m.ramp(*l.Ramp)
	case l.Steps != nil:
		return m.stairs(*l.Steps)
	case l.Spike != nil:
		return m.spike(*l.Spike)
	case l.Replay != "":
		return m.replay(within(dir, l.Replay), time.Duration(l.Duration))
	}
	rate, err := schedule.ParseRate(l.Rate)
	if err != nil {
		return err
	}
	m.peak = rate
	m.even = true
	m.text = lab.Plain(rate) + "/s"
	m.open, err = schedule.Constant(rate, m.duration)
	return err
}

// setArrivals makes arrivals constant, jittered or random.
func (m *model) setArrivals(kind string, seed uint64) error {
	switch kind {
	case poisson:
		m.open = m.open.Random(seed)
		m.even = false
	case jittered:
		m.open = m.open.Jittered(seed)
		m.even = false
	case "", constant:
		kind = constant
	default:
		return fmt.Errorf("arrivals %q are unknown: use %s, %s or %s", kind, constant, jittered, poisson)
	}
	m.text = fmt.Sprintf("open, %s, %s", kind, m.text)
	return nil
}

// ramp reads a rate that changes linearly. One end may be zero.
func (m *model) ramp(r scenario.Ramp) (err error) {
	from, errFrom := rateFromZero("ramp: from", r.From)
	to, errTo := rateFromZero("ramp: to", r.To)
	if err := errors.Join(errFrom, errTo); err != nil {
		return err
	}
	m.peak = max(from, to)
	m.text = fmt.Sprintf("ramp from %s/s to %s/s", lab.Plain(from), lab.Plain(to))
	m.open, err = schedule.Ramp(from, to, m.duration)
	return err
}

// maxStairs is the highest number of steps of a load.
const maxStairs = 10_000

// stairs reads constant rates, each higher than the one before. Their total time replaces the duration.
func (m *model) stairs(s scenario.Stairs) (err error) {
	from, errFrom := rateFromZero("steps: from", s.From)
	by, errBy := rateFromZero("steps: by", s.By)
	var errCount error
	if s.Count < 1 || s.Count > maxStairs || s.Each <= 0 {
		errCount = fmt.Errorf("steps: %d steps of %v: use 1 to %d steps and a time above zero", s.Count,
			time.Duration(s.Each), maxStairs)
	}
	if err := errors.Join(errFrom, errBy, errCount); err != nil {
		return err
	}
	each := time.Duration(s.Each)
	if each > longest/time.Duration(s.Count) {
		return fmt.Errorf("steps: %d steps of %v are longer than %.0fh", s.Count, each, longest.Hours())
	}
	steps := make([]schedule.Step, s.Count)
	for i := range steps {
		steps[i] = schedule.Step{Rate: from + float64(i)*by, Duration: each}
	}
	m.duration = each * time.Duration(s.Count)
	m.peak = steps[s.Count-1].Rate
	m.text = fmt.Sprintf("%d steps of %v from %s/s by %s/s to %s/s", s.Count, each, lab.Plain(from),
		lab.Plain(by), lab.Plain(m.peak))
	m.open, err = schedule.Steps(steps)
	return err
}

// spike reads a base rate with one period of a higher rate.
func (m *model) spike(s scenario.Spike) (err error) {
	base, errBase := rateFromZero("spike: base", s.Base)
	peak, errPeak := schedule.ParseRate(s.Peak)
	at := time.Duration(s.At)
	length := time.Duration(s.For)
	var errTime error
	if at < 0 || length <= 0 || at > m.duration-length {
		errTime = fmt.Errorf("spike: %v from %v on is not within the load of %v", length, at, m.duration)
	}
	if err := errors.Join(errBase, errPeak, errTime); err != nil {
		return err
	}
	var steps []schedule.Step
	for _, step := range []schedule.Step{{Rate: base, Duration: at}, {Rate: peak, Duration: length},
		{Rate: base, Duration: m.duration - at - length}} {
		if step.Duration > 0 {
			steps = append(steps, step)
		}
	}
	m.peak = max(base, peak)
	m.text = fmt.Sprintf("%s/s with a spike of %s/s from %v on for %v", lab.Plain(base), lab.Plain(peak), at,
		length)
	m.open, err = schedule.Steps(steps)
	return err
}

// rateFromZero reads a rate that may be zero.
func rateFromZero(what, text string) (float64, error) {
	if number, _, _ := strings.Cut(text, "/"); strings.TrimSpace(number) == "0" {
		return 0, nil
	}
	rate, err := schedule.ParseRate(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return rate, nil
}
