package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestPacingRoundTrip(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"exact", "exact"}, {"spin", "spin"}, {"grid", "grid:1ms"}, {"grid:250us", "grid:250µs"},
	} {
		p, err := ParsePacing(c.text)
		if err != nil || p.String() != c.want {
			t.Errorf("%q is %q, error %v", c.text, p, err)
		}
	}
	for _, bad := range []string{"", "grid:", "grid:0s", "grid:-1ms", "grid:2s", "exact:1ms", "fast"} {
		if _, err := ParsePacing(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestGridRoundsUp(t *testing.T) {
	p, err := ParsePacing("grid:1ms")
	testset.Must(t, err)
	for due, want := range map[time.Duration]time.Duration{0: 0, 1: time.Millisecond,
		time.Millisecond: time.Millisecond, time.Millisecond + 1: 2 * time.Millisecond} {
		if got := p.Slot(due); got != want {
			t.Errorf("due %v: slot %v, want %v", due, got, want)
		}
	}
}

func TestUsersAreDueInOrder(t *testing.T) {
	u := newUsers(Users{Number: 3, Think: 10, Every: 10}, 100, make([]conn, 3))
	var begun []time.Duration
	for range 3 {
		due, ok := u.peek()
		if !ok {
			t.Fatal("a user is missing")
		}
		begun = append(begun, due)
		u.take()
	}
	if begun[0] != 0 || begun[1] != 10 || begun[2] != 20 {
		t.Errorf("users begin at %v, want 0, 10, 20", begun)
	}
	if _, ok := u.peek(); ok {
		t.Error("a user is due while all wait for answers")
	}
	for _, end := range []time.Duration{50, 30, 40} {
		u.finished(nil, end, 0, false)
	}
	for _, want := range []time.Duration{40, 50, 60} {
		if due, _ := u.peek(); due != want {
			t.Errorf("due at %v, want %v", due, want)
		}
		u.take()
	}
	if u.paused != 30 {
		t.Errorf("users paused %v in all, want 30", u.paused)
	}
	for range 3 {
		u.finished(nil, 95, 0, false) // the next would be due after the end
	}
	if want := time.Duration(3*95 - 30); u.active != want || u.paused != 30 {
		t.Errorf("users were active for %v and paused %v, want %v and 30", u.active, u.paused, want)
	}
}

func TestUsersWhoComeTooLateAreAccountedFor(t *testing.T) {
	u := newUsers(Users{Number: 3, Think: 10, Every: 10}, 100, make([]conn, 3)) // due at 0, 10 and 20
	u.take()
	u.finished(nil, 50, 0, false)
	u.stop(70, nil) // nobody else was begun; the first thinks until 60
	if u.active != 60 || u.paused != 10 {
		t.Errorf("users were active for %v and paused %v, want 60 and 10", u.active, u.paused)
	}
}

// TestPausesWithinFlowsAddUp: two users play flows of two steps, in a load of length 100. Their time is
// exactly the sum of their waits for answers and their pauses.
func TestPausesWithinFlowsAddUp(t *testing.T) {
	u := newUsers(Users{Number: 2, Think: 5}, 100, make([]conn, 2))
	var thinking Agenda[*conn]
	// one: a step from 0 to 10, a pause to 40, a step to 60, a flow's pause to 65+2, a step that ends at 120
	u.take()
	u.take() // two: a step from 0 to 30, a pause to 90, which the end at 80 cuts
	u.pauses(10, 40)
	u.pauses(30, 90)
	thinking.Push(Entry[*conn]{Due: 90})
	u.finished(nil, 60, 2, false)
	u.take()
	u.stop(80, thinking)
	u.finished(nil, 120, 0, false)
	busyOne := time.Duration(10 + 20 + 53)
	busyTwo := time.Duration(30)
	pausedOne := time.Duration(30 + 7)
	pausedTwo := time.Duration(60)
	if u.paused != pausedOne+pausedTwo || u.active != busyOne+busyTwo+u.paused {
		t.Errorf("users were active for %v and paused %v, want %v and %v", u.active, u.paused,
			busyOne+busyTwo+pausedOne+pausedTwo, pausedOne+pausedTwo)
	}
}

func TestTheAgendaIsInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var a Agenda[*conn]
	for range 1000 {
		a.Push(Entry[*conn]{Due: time.Duration(random.IntN(500))})
		if random.IntN(3) == 0 {
			a.Pop()
		}
	}
	for last := time.Duration(0); len(a) > 0; {
		next := a.Pop().Due
		if next < last {
			t.Fatalf("due at %d after %d", next, last)
		}
		last = next
	}
}

func TestUsersPauseWhenTheTargetIsUnreachable(t *testing.T) {
	u := newUsers(Users{Number: 1}, time.Hour, make([]conn, 1))
	u.take()
	u.finished(nil, time.Second, 0, true)
	if due, _ := u.peek(); due != time.Second+Backoff {
		t.Errorf("due at %v, want a pause of %v", due, Backoff)
	}
}

func TestTheNumberOfConnectionsHasLimits(t *testing.T) {
	for _, n := range []int{-1, 0, MaxConnections + 1} {
		if err := (&Config{Load: Load{Connections: n}}).fill(); err == nil {
			t.Errorf("%d connections were accepted", n)
		}
	}
}
