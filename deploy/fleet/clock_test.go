package fleet

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestAUnitOnThisHostHasTheClockOfTheConductor checks that a unit of the same kernel run shares the clock.
func TestAUnitOnThisHostHasTheClockOfTheConductor(t *testing.T) {
	run, err := os.ReadFile(lab.KernelRun)
	testset.Must(t, err)
	s, _, orders, say := lone(t)
	go answerClock(orders, say, strings.TrimSpace(string(run)), 0, 0)
	readings, err := s.askClocks(t.Context())
	if err != nil || len(readings) != 1 || !readings[0].Shared {
		t.Fatalf("the clock is read as %+v, %v", readings, err)
	}
	if r := readings[0]; math.Abs(r.OffsetSeconds) > r.BoundSeconds || r.BoundSeconds <= 0 {
		t.Errorf("one clock is off by %g s, which its bound %g s excludes", r.OffsetSeconds, r.BoundSeconds)
	}
	if apart := lab.NewClocks(readings, readings).ApartSeconds; apart != 0 {
		t.Errorf("one clock is %g s apart from itself", apart)
	}
}

// answerClock plays a unit whose clock is ahead, and that delays every other answer.
func answerClock(orders io.Reader, say io.Writer, run string, ahead, slow time.Duration) {
	commands := json.NewDecoder(orders)
	events := json.NewEncoder(say)
	for n := 0; ; n++ {
		var command lab.Command
		if commands.Decode(&command) != nil || command.Command != lab.CommandClock {
			return
		}
		data, _ := json.Marshal(lab.ClockAnswer{KernelRun: run, Nanoseconds: time.Now().Add(ahead).UnixNano()})
		if n%2 == 0 {
			time.Sleep(slow)
		}
		_ = events.Encode(lab.Event{Event: lab.EventClock, Data: data})
	}
}

// TestALateAnswerIsDropped checks that an answer that comes after the wait for it has ended is not taken for
// the answer to the next question.
func TestALateAnswerIsDropped(t *testing.T) {
	s, u, orders, say := lone(t)
	late, err := json.Marshal(lab.ClockAnswer{Nanoseconds: time.Now().Add(-time.Hour).UnixNano()})
	testset.Must(t, err)
	offer(u.clock, late)
	go answerClock(orders, say, "another", 0, 0)
	readings, err := s.askClocks(t.Context())
	if err != nil || len(readings) != 1 || readings[0].BoundSeconds <= 0 ||
		math.Abs(readings[0].OffsetSeconds) > readings[0].BoundSeconds {
		t.Errorf("the clock is read as %+v, %v: want that of the new answers", readings, err)
	}
}

// TestAClockThatIsAheadIsMeasured checks that the offset is found though some answers are
// slow on their way back.
func TestAClockThatIsAheadIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = 3 * time.Second
		s, _, orders, say := lone(t)
		go answerClock(orders, say, "another", ahead, 100*time.Millisecond)
		readings, err := s.askClocks(t.Context())
		if err != nil || len(readings) != 1 || readings[0].Shared {
			t.Fatalf("the clock is read as %+v, %v", readings, err)
		}
		r := readings[0]
		if off := math.Abs(r.OffsetSeconds - ahead.Seconds()); off > r.BoundSeconds {
			t.Errorf("the clock is found %g s ahead, want %v within %g s", r.OffsetSeconds, ahead,
				r.BoundSeconds)
		}
		if r.BoundSeconds > 0.05 {
			t.Errorf("the bound is %g s: the slow answers were taken", r.BoundSeconds)
		}
		apart := lab.NewClocks(readings, nil).ApartSeconds
		if math.Abs(apart-ahead.Seconds()) > 2*r.BoundSeconds {
			t.Errorf("the clocks are %g s apart, want about %v", apart, ahead)
		}
	})
}

// TestAUnitThatEndsInsteadOfAnswering checks that askClocks returns an error at once if the unit has ended.
func TestAUnitThatEndsInsteadOfAnswering(t *testing.T) {
	s, _, orders, say := lone(t)
	go func() {
		_, _ = orders.Read(make([]byte, 1))
		_ = say.Close()
		_, _ = io.Copy(io.Discard, orders)
	}()
	if _, err := s.askClocks(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "ask unit front for its clock: it has ended") {
		t.Errorf("askClocks: %v, want the end of the unit", err)
	}
}

// lone returns the supervisor of one unit, the unit, and the unit's ends of its control connection:
// commands are read from the first pipe, and events written to the second.
func lone(t *testing.T) (*Supervisor, *Unit, *io.PipeReader, *io.PipeWriter) {
	t.Helper()
	u := NewUnit(lab.UnitSpec{Name: "front"})
	s := NewSupervisor(lab.Layout{Lead: "front", Units: []lab.UnitSpec{u.Spec}}, t.TempDir())
	orders, commands := io.Pipe()
	events, say := io.Pipe()
	u.Commands = commands
	s.Add(u)
	go func() {
		defer close(u.Ended)
		s.HandleEvents(u, events)
	}()
	t.Cleanup(func() {
		_ = commands.Close()
		_ = say.Close()
		<-u.Ended
	})
	return s, u, orders, say
}
