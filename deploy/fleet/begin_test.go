package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// life is a unit on the platform of these tests. Its methods note their calls.
type life struct {
	*Unit
	fleet *recorded
}

func (l *life) End(context.Context) error    { return l.fleet.note("end " + l.Spec.Name) }
func (l *life) Resume(context.Context) error { return l.fleet.note("resume " + l.Spec.Name) }

// Start implements Instance. A command that prepares has then ended, too.
func (l *life) Start(context.Context) error {
	if !l.Prepares {
		if l.fleet.starting != nil {
			l.fleet.starting(l)
		}
		return l.fleet.note("start " + l.Spec.Name)
	}
	close(l.Ended)
	return l.fleet.note("prepare " + l.Spec.Name + " " + l.Spec.Program)
}

func (l *life) Pause(context.Context) (string, error) {
	return "it stands still", l.fleet.note("pause " + l.Spec.Name)
}

func (l *life) Kill(context.Context) (string, error) {
	if err := l.fleet.note("kill " + l.Spec.Name); err != nil {
		return "", err
	}
	close(l.Ended)
	return "it has ended", nil
}

// recorded is a fleet on a platform that notes its calls, such as "start front".
type recorded struct {
	*Fleet[*life]
	mu     sync.Mutex
	noted  []string
	refuse string // the call that fails
	// starting is called in the start of each life; it may be nil.
	starting func(*life)
}

// newRecorded returns a fleet for a layout on a platform that notes its calls. It has no units yet.
func newRecorded(t *testing.T, layout lab.Layout, platform Platform[*life]) *recorded {
	t.Helper()
	b := &recorded{}
	platform.Next = func(_ context.Context, ended *life, mayMove bool) (*life, error) {
		return &life{NewUnit(ended.Spec), b}, b.note(fmt.Sprintf("next %s %t", ended.Spec.Name, mayMove))
	}
	platform.New = func(spec lab.UnitSpec) *life { return &life{NewUnit(spec), b} }
	platform.Reach = func(string) string { return "" }
	platform.AwaitOpen = func(_ context.Context, l *life) error { return b.note("open " + l.Spec.Name) }
	noteStage := func(call string) func(context.Context, []lab.UnitSpec) error {
		return func(_ context.Context, stage []lab.UnitSpec) error { return b.note(call + " " + stage[0].Name) }
	}
	platform.AtOnce = 1
	platform.Started = noteStage("started")
	platform.BetweenStages = noteStage("after")
	platform.Clear = func() error { return b.note("clear") }
	b.Fleet = New(t.Context(), NewSupervisor(layout, t.TempDir()), t.TempDir(), platform)
	t.Cleanup(b.Unwatch)
	return b
}

// note notes a call, and returns an error if that call is to be refused.
func (b *recorded) note(call string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.noted = append(b.noted, call); call == b.refuse {
		return errors.New("refused")
	}
	return nil
}

// TestBegin checks the order: servers, each after its setup, then the commands that prepare, then units
// stage by stage. It checks that Begin stops at the first error.
func TestBegin(t *testing.T) {
	db := foreign("db", lab.Lifecycle{})
	db.Server = &lab.Server{Kind: "mariadb", Setup: []lab.ServerSetup{{Program: "install"}}}
	units := []lab.UnitSpec{foreign("proxy", lab.Lifecycle{}, "front"), {Name: "front"},
		{Name: "stock", Networking: lab.Networking{Reached: lab.ReachDirect}}, db}
	prepare := []lab.UnitSpec{{Name: "seed", Runnable: lab.Runnable{Program: "fill"}}}
	order := []string{"prepare db install", "start db", "prepare seed fill", "start stock", "started stock",
		"after stock", "start front", "started front", "after front", "start proxy", "started proxy"}
	for _, c := range []struct {
		name, refuse, err string
		setsUp            bool
		want              []string
	}{
		{name: "all", want: order},
		{name: "servers set themselves up", setsUp: true, want: order[1:]},
		{name: "a server fails", refuse: "start db", want: order[:2], err: "start db (mariadb): refused"},
		{name: "a command fails", refuse: "prepare seed fill", want: order[:3], err: "prepare the trial: refused"},
		{name: "a stage fails", refuse: "start front", want: order[:7], err: "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRecorded(t, lab.Layout{Units: units}, Platform[*life]{SetsUp: c.setsUp})
			b.refuse = c.refuse
			err := b.Begin(t.Context(), units, prepare)
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("Begin: %v, want %q", err, c.err)
			}
			if !slices.Equal(b.noted, c.want) {
				t.Errorf("it did\n%s, want\n%s", strings.Join(b.noted, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestLives checks that a further life replaces the former one, and that neither commands that prepare
// nor units of another deployer are among the units of a fleet.
func TestLives(t *testing.T) {
	l := newRecorded(t, lab.Layout{Units: []lab.UnitSpec{{Name: "front"}, {Name: "stock"}, {Name: "load"}}},
		Platform[*life]{})
	l.Supervisor.Add(NewUnit(lab.UnitSpec{Name: "load"}))
	seed := &life{NewUnit(lab.UnitSpec{Name: "seed"}), l}
	seed.Prepares = true
	_, _ = seed.Log.Write([]byte("seeded"))
	stock := &life{NewUnit(lab.UnitSpec{Name: "stock"}), l}
	former := &life{NewUnit(lab.UnitSpec{Name: "front"}), l}
	front := &life{NewUnit(lab.UnitSpec{Name: "front"}), l}
	for _, one := range []*life{seed, stock, former, front} {
		l.Add(one)
	}
	if got := l.All(); !slices.Equal(got, []*life{front, stock}) || l.Named("front") != front ||
		l.Named("load") != nil || l.Named("seed") != nil {
		t.Errorf("the units are %v, front is %p, want %p, load %v and seed %v, want neither", got, l.Named("front"),
			front, l.Named("load"), l.Named("seed"))
	}
	if got := l.Everything(); !slices.Equal(got, []*life{seed, front, stock}) {
		t.Errorf("everything is %v", got)
	}
	if logs := l.Logs(); len(logs) != 1 || logs["seed"] != "seeded" {
		t.Errorf("the logs are %q, want that of seed", logs)
	}
}

// TestAwaitPrepared checks that awaitPrepared returns how a command has ended, and that its end does not
// fail the trial by itself.
func TestAwaitPrepared(t *testing.T) {
	s := NewSupervisor(lab.Layout{}, t.TempDir())
	for _, c := range []struct {
		name    string
		how     error
		failure string
		unkept  error
		want    string
	}{
		{name: "good"},
		{name: "bad", how: errors.New("exit status 3"),
			want: "seed (fill) ended: exit status 3; its last words:\n  no such table"},
		{name: "bad, as its keeper reports", failure: "ended: exit status 3",
			want: "seed (fill) ended: exit status 3; its last words:\n  no such table"},
		{name: "its keeper has failed", unkept: errors.New("processes may be left"), want: "processes may be left"},
	} {
		u := NewUnit(lab.UnitSpec{Name: "seed", Runnable: lab.Runnable{Program: "fill", Foreign: true}})
		u.Prepares = true
		u.failure = c.failure
		u.Unkept = c.unkept
		_, _ = u.Log.Write([]byte("no such table"))
		s.JudgeEnd(u, c.how)
		close(u.Ended)
		err := u.awaitPrepared(t.Context(), "", nil, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := s.Failure(); err != nil {
		t.Errorf("the trial has failed: %v, want only the error of awaitPrepared", err)
	}
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	ours := NewUnit(lab.UnitSpec{Name: "seed", Runnable: lab.Runnable{Own: "shop"}})
	err := ours.awaitPrepared(interrupted, "", nil, nil)
	if err == nil || err.Error() != "seed (shop): interrupted" {
		t.Errorf("a command of ours that still runs: %v", err)
	}
}

// TestBeginWithoutALife checks that Begin does all steps for units whose replicas the platform creates
// itself: such a unit has no life under its own name.
func TestBeginWithoutALife(t *testing.T) {
	units := []lab.UnitSpec{{Name: "front"}, {
		Name:       "stock",
		Networking: lab.Networking{Reached: lab.ReachDirect},
	}}
	b := newRecorded(t, lab.Layout{Units: units}, Platform[*life]{Skip: func(lab.UnitSpec) bool { return true }})
	testset.Must(t, b.Begin(t.Context(), units, nil))
	if !slices.Contains(b.noted, "started front") || !slices.Contains(b.noted, "after stock") {
		t.Errorf("%q, want all steps", b.noted)
	}
}
