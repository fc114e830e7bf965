package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// patience bounds how long a test waits for an event that must happen.
const patience = time.Minute

// pool is a supervisor of units that are goroutines of this process.
type pool struct {
	*Supervisor
	folder string
	mu     sync.Mutex
	steps  []string // in order: a unit's name when it gets the command to stop, and steps of tests
}

// newPool starts the units. Each calls play, with a function that sends an event, when it gets the command
// to stop.
func newPool(t *testing.T, specs []lab.UnitSpec, play func(name string, say func(lab.Event))) *pool {
	t.Helper()
	c := &pool{folder: filepath.Join(t.TempDir(), "handed-over")}
	c.Supervisor = NewSupervisor(lab.Layout{Lead: specs[0].Name, Units: specs}, c.folder)
	for _, spec := range specs {
		orders, commands := io.Pipe()
		events, out := io.Pipe()
		u := NewUnit(spec)
		u.Commands = commands
		c.Add(u)
		t.Cleanup(func() { _ = commands.Close() }) // ends a unit that got no command to stop
		go func() {
			defer func() { _ = out.Close() }()
			lines := bufio.NewScanner(orders)
			for lines.Scan() {
				if strings.Contains(lines.Text(), "stop") {
					c.mu.Lock()
					c.steps = append(c.steps, spec.Name)
					c.mu.Unlock()
					play(spec.Name, func(e lab.Event) { _ = json.NewEncoder(out).Encode(e) })
					return
				}
			}
		}()
		go func() {
			defer close(u.Ended)
			c.HandleEvents(u, events)
			c.Judge(u, nil)
		}()
	}
	return c
}

// end tells the lead to stop and returns the reports.
func (c *pool) end(t *testing.T) ([]lab.UnitReport, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	testset.Must(t, c.Command(lab.Command{Command: lab.CommandStop}))
	return c.Reports(ctx)
}

func TestUnitsEndStageByStage(t *testing.T) {
	specs := []lab.UnitSpec{{Name: "load"}, {Name: "views", Lifecycle: lab.Lifecycle{Stage: 2}}, {Name: "front"},
		{Name: "stock", Lifecycle: lab.Lifecycle{Stage: 1}}, {Name: "money", Lifecycle: lab.Lifecycle{Stage: 1}}}
	var c *pool
	c = newPool(t, specs, func(name string, say func(lab.Event)) {
		if name == "stock" { // the slowest of its stage
			time.Sleep(50 * time.Millisecond)
		}
		c.mu.Lock()
		c.steps = append(c.steps, name+" ends")
		c.mu.Unlock()
		say(lab.Event{Event: lab.EventReport, Data: json.RawMessage(`"` + name + `"`)})
	})
	reports, err := c.end(t)
	testset.Must(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, before := range []string{"load ends", "front ends", "stock ends", "money ends"} {
		after := []string{"front", "stock", "views", "views"}[i]
		if at := slices.Index(c.steps, before); at < 0 || at > slices.Index(c.steps, after) {
			t.Errorf("%s got the command to stop before %q: %q", after, before, c.steps)
		}
	}
	var order []string
	for _, r := range reports {
		order = append(order, r.Unit)
	}
	if want := []string{"load", "views", "front", "stock", "money"}; !slices.Equal(order, want) {
		t.Errorf("reports of %q, want them in the order of the layout %q", order, want)
	}
}

func TestAStageThatDoesNotEndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		defer close(held)
		views := lab.UnitSpec{Name: "views", Lifecycle: lab.Lifecycle{Stage: 1}}
		specs := []lab.UnitSpec{{Name: "load"}, {Name: "front"}, views}
		c := newPool(t, specs, func(name string, _ func(lab.Event)) {
			if name == "front" {
				<-held
			}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		testset.Must(t, c.Command(lab.Command{Command: lab.CommandStop}))
		time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err := c.Reports(ctx)
		deploytest.Says(t, err, "unit front does not end: enough")
		c.mu.Lock()
		defer c.mu.Unlock()
		if slices.Contains(c.steps, "views") {
			t.Error("a later stage got the command to stop")
		}
	})
}

// file returns the event that hands over a piece of a file.
func file(name, data string) lab.Event {
	text, err := json.Marshal(lab.FilePiece{File: name, Data: []byte(data)})
	if err != nil {
		panic(err)
	}
	return lab.Event{Event: lab.EventFile, Data: text}
}

func TestFilesAreHandedOver(t *testing.T) {
	c := newPool(t, []lab.UnitSpec{{Name: "load"}, {Name: "front"}}, func(name string, say func(lab.Event)) {
		for n := range 3 {
			say(file(name+".log", fmt.Sprintln(name, n)))
		}
	})
	if _, err := c.end(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"load", "front"} {
		text, err := os.ReadFile(filepath.Join(c.HandedOver(), name+".log"))
		if want := name + " 0\n" + name + " 1\n" + name + " 2\n"; err != nil || string(text) != want {
			t.Errorf("%s handed over %q (%v), want %q", name, text, err, want)
		}
	}
}

// TestAUnitHandsOverTooMuch checks that pieces beyond maxHandedOver are not written and fail the trial, and
// that the bound is one per unit.
func TestAUnitHandsOverTooMuch(t *testing.T) {
	folder := t.TempDir()
	s := NewSupervisor(lab.Layout{}, folder)
	s.handed.bytes["load"] = maxHandedOver - 6
	u := NewUnit(lab.UnitSpec{Name: "load"})
	for _, piece := range []string{"abc", "def", "ghi"} {
		s.handle(u, file("load.log", piece))
	}
	s.handle(NewUnit(lab.UnitSpec{Name: "front"}), file("front.log", "of another"))
	text, err := os.ReadFile(filepath.Join(folder, "load.log"))
	if failed := s.Failure(); err != nil || string(text) != "abcdef" || failed == nil ||
		!strings.Contains(failed.Error(),
			"unit load hands over a file: load.log: the unit has handed over more than 16 GiB") {
		t.Errorf("it has handed over %q (%v), failure %v", text, err, failed)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "front.log")); err != nil || string(text) != "of another" {
		t.Errorf("another unit has handed over %q (%v)", text, err)
	}
}

// TestTheEndOfAKeeperNamesItsCauseFirst checks that the error names the cause, and then what to do about
// processes that the keeper may have left.
func TestTheEndOfAKeeperNamesItsCauseFirst(t *testing.T) {
	u := NewUnit(lab.UnitSpec{Name: "web", Runnable: lab.Runnable{Foreign: true}})
	_, _ = u.Log.Write([]byte("cannot bind")) // it never fails
	newRecorded(t, lab.Layout{}, Platform[*life]{}).JudgeProcess(u, errors.New("signal: killed"), false,
		"here: remove them with: cleave clean")
	const want = "the keeper of unit web ended: signal: killed; its last words:\n  cannot bind\n" +
		"processes of the unit may be left here: remove them with: cleave clean"
	if u.Unkept == nil || u.Unkept.Error() != want {
		t.Errorf("it says %v, want %s", u.Unkept, want)
	}
}

// TestHowAContainerEnded checks the errors, among them that of a lack of memory, which names the limit if
// there is one.
func TestHowAContainerEnded(t *testing.T) {
	limited := lab.UnitSpec{Limits: lab.Limits{Memory: 64 << 20}}
	gone := errors.New("somebody has removed it")
	for _, c := range []struct {
		spec        lab.UnitSpec
		code        int
		outOfMemory bool
		err         error
		says        string
	}{
		{limited, 0, false, nil, ""},
		{limited, 0, false, gone, "somebody has removed it"},
		{limited, 3, false, nil, "exit status 3"},
		{limited, 137, true, nil, "it needed more memory than its limit of 64 MiB"},
		{lab.UnitSpec{}, 137, true, nil, "its host ran out of memory"},
	} {
		err := HowEnded(c.spec, c.code, c.outOfMemory, c.err)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestFilesStayInTheirFolder(t *testing.T) {
	for _, name := range []string{"../up", "/etc/passwd", "a/b", ".", "..", "", "load.log"} {
		t.Run(name, func(t *testing.T) {
			c := newPool(t, []lab.UnitSpec{{Name: "load"}, {Name: "front"}}, func(unit string, say func(lab.Event)) {
				if unit == "load" {
					say(file("load.log", "whole"))
					return
				}
				say(file(name, "planted"))
			})
			if _, err := c.end(t); err == nil || !strings.Contains(err.Error(), "unit front hands over a file") {
				t.Errorf("Reports: %v, want the unit named", err)
			}
			var found []string
			err := filepath.WalkDir(filepath.Dir(c.folder), func(path string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					found = append(found, path)
				}
				return err
			})
			text, _ := os.ReadFile(filepath.Join(c.folder, "load.log"))
			if err != nil || len(found) != 1 || string(text) != "whole" {
				t.Errorf("there are %q (%v), and load.log holds %q", found, err, text)
			}
		})
	}
}

// endless reads as the rest of an event that has no end, and counts the bytes that were read.
type endless struct{ sent *int }

// Read implements io.Reader.
func (e endless) Read(into []byte) (int, error) {
	if *e.sent += len(into); *e.sent > 2*maxEvent {
		return 0, io.EOF // the unit has ended
	}
	for i := range into {
		into[i] = 'x'
	}
	return len(into), nil
}

// TestAnEventWithoutEndFailsTheTrial checks that an endless event fails the trial, and that the rest is
// read, so that its unit can end.
func TestAnEventWithoutEndFailsTheTrial(t *testing.T) {
	s := NewSupervisor(lab.Layout{Lead: "load"}, t.TempDir())
	sent := 0
	s.HandleEvents(NewUnit(lab.UnitSpec{Name: "front"}),
		io.MultiReader(strings.NewReader(`{"event":"`), endless{&sent}))
	if err := s.Failure(); err == nil || !strings.Contains(err.Error(), "unit front") ||
		!strings.Contains(err.Error(), "more than 67108864 bytes") || sent <= 2*maxEvent {
		t.Errorf("after %d bytes: %v", sent, err)
	}
}

// TestSecondsOfTheLoadArePassedOn checks that the layout's observer gets every second of the load, however
// many there are.
func TestSecondsOfTheLoadArePassedOn(t *testing.T) {
	var got []lab.LoadSecond
	s := NewSupervisor(lab.Layout{Lead: "load", Loaded: func(l lab.LoadSecond) { got = append(got, l) }},
		t.TempDir())
	lead := NewUnit(lab.UnitSpec{Name: "load"})
	second := `{"event":"loaded","data":{"end":2,"ok":5,"failed":1}}`
	s.HandleEvents(lead, strings.NewReader(strings.Repeat(second, 20)))
	if len(got) != 20 || got[9].End != 2 || got[9].OK != 5 || got[9].Failed != 1 {
		t.Errorf("the observer got %+v", got)
	}
	if err := s.Failure(); err != nil {
		t.Errorf("the trial fails: %v", err)
	}
	s.HandleEvents(lead, strings.NewReader(`{"event":"loaded","data":[]}`))
	deploytest.Says(t, s.Failure(), "unit load tells of a second")
}

func TestAUnitThatIsDoomedMayEnd(t *testing.T) {
	c := newPool(t, []lab.UnitSpec{{Name: "load"}, {Name: "front"}}, func(string, func(lab.Event)) {})
	front := c.Named("front")
	testset.Must(t, c.Doom(front))
	c.Judge(front, errors.New("signal: killed"))
	if _, err := c.end(t); err != nil {
		t.Errorf("Reports: %v, want nothing of a unit that was killed on purpose", err)
	}
	deploytest.Says(t, c.Doom(front), "has ended before")
}

// TestTheEndOfAServerOutranksItsClients checks that Failure returns the end of a server, though its
// clients, whose errors are consequences, noticed it first.
func TestTheEndOfAServerOutranksItsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		database := foreign("database", lab.Lifecycle{})
		database.Server = &lab.Server{Kind: "mariadb"}
		specs := []lab.UnitSpec{{Name: "lead"}, database}
		s := NewSupervisor(lab.Layout{Lead: "lead", Units: specs}, t.TempDir())
		select {
		case <-s.Failed():
			t.Error("it has failed before it began")
		default:
		}
		s.Fail(errors.New("unit lead failed: connection refused"))
		s.Fail(errors.New("unit orders failed: connection refused"))
		go func() {
			time.Sleep(serverNotice / 4)
			s.JudgeForeign(NewUnit(specs[1]), "ended by signal: killed")
		}()
		_, err := s.Await(t.Context(), lab.EventFinished)
		if err == nil || !strings.HasPrefix(err.Error(), "mariadb ended by signal: killed") {
			t.Errorf("Await: %v, want the end of the server", err)
		}
		// If no server ends, Failure returns the first error.
		running := NewSupervisor(lab.Layout{Lead: "lead", Units: specs}, t.TempDir())
		running.Fail(errors.New("the first"))
		running.Fail(errors.New("the second"))
		if err := running.Failure(); err == nil || err.Error() != "the first" {
			t.Errorf("Failure: %v, want the first", err)
		}
		doomed := NewUnit(specs[1])
		afterKill := NewSupervisor(lab.Layout{Lead: "lead", Units: specs}, t.TempDir())
		testset.Must(t, afterKill.Doom(doomed))
		afterKill.JudgeForeign(doomed, "ended by signal: killed")
		if err := afterKill.Failure(); err != nil {
			t.Errorf("a server that was killed on purpose: %v", err)
		}
	})
}
