package fleet

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
)

// Supervisor receives the events of the units of one deployment, sends commands to them, judges their ends,
// and holds the first failure. Its methods may be called from several goroutines.
type Supervisor struct {
	lead        string
	handed      *handedOver          // writes the files that units hand over
	spans       lab.SpanReceiver     // nil: no spans are received
	loaded      func(lab.LoadSecond) // called after every second of the load; nil: not called
	events      chan lab.Event       // of the lead, for Await
	failed      chan struct{}        // closed by fail, with the first failure of any unit
	fail        func()               // closes failed, once
	serverEnded chan struct{}        // closed when the end of a server is known
	mu          sync.Mutex
	failure     error
	units       []*Unit       // in the order of the layout; nil before Add
	order       []string      // names of the units, in the same order
	servers     bool          // the layout has servers
	stopping    bool          // units are expected to end
	loading     bool          // the lead is ready for the load: no unit starts again
	underLoad   bool          // the lead was told to start the load, and not to stop yet
	notice      time.Duration // see SetServerNotice
	begun       time.Time     // when NewSupervisor was called: starts are counted from then
}

// NewSupervisor returns a supervisor of the units of a layout. Files that they hand over go into folder,
// which is made with the first file.
func NewSupervisor(layout lab.Layout, folder string) *Supervisor {
	s := &Supervisor{
		lead: layout.Lead, spans: layout.Spans, loaded: layout.Loaded,
		handed: &handedOver{folder: folder, owners: map[string]string{}, bytes: map[string]int64{}},
		units:  make([]*Unit, len(layout.Units)),
		notice: serverNotice, events: make(chan lab.Event, 4), failed: make(chan struct{}),
		serverEnded: make(chan struct{}), begun: time.Now(),
	}
	s.fail = sync.OnceFunc(func() { close(s.failed) })
	for _, spec := range layout.Units {
		s.order = append(s.order, spec.Name)
		s.servers = s.servers || spec.Server != nil
	}
	return s
}

// Add adds a unit. A restarted unit takes the place of its former life; a unit that the layout does not name,
// such as a service's second container, comes last.
func (s *Supervisor) Add(u *Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := slices.Index(s.order, u.Spec.Name)
	if place < 0 {
		place = len(s.order)
		s.order = append(s.order, u.Spec.Name)
		s.units = append(s.units, nil)
	}
	s.units[place] = u
}

// All returns the units as they are now, in the order of the layout.
func (s *Supervisor) All() []*Unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.units), func(u *Unit) bool { return u == nil })
}

// Named returns the unit of a name, or nil.
func (s *Supervisor) Named(name string) *Unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place := slices.Index(s.order, name); place >= 0 {
		return s.units[place]
	}
	return nil
}

// maxEvent is the longest event of a unit, in bytes; a file comes in pieces.
const maxEvent = 64 << 20

// HandleEvents handles the events of a unit until it closes its side, or the connection breaks. Invalid or
// endless input fails the trial; the rest is then discarded, so that the unit does not block.
func (s *Supervisor) HandleEvents(u *Unit, from io.Reader) {
	// A unit of ours writes an empty line when its program has opened the control connection (unit.Streams). It
	// counts as usable from then on; a later sign of readiness replaces that time. The events of a foreign unit
	// come from its keeper.
	begun := bufio.NewReader(from)
	if _, err := begun.Peek(1); err == nil && !u.Spec.Foreign {
		u.markUsable()
	}
	events := bounded.New(begun, maxEvent)
	decoder := json.NewDecoder(events)
	for {
		events.Next()
		var event lab.Event
		err := decoder.Decode(&event)
		if err == nil {
			s.handle(u, event)
			continue
		}
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		var long bounded.Error
		if errors.As(err, &syntax) || errors.As(err, &kind) || errors.As(err, &long) {
			s.Fail(fmt.Errorf("unit %s wrote what is no event: %w", u.Spec.Name, err))
			_, _ = io.Copy(io.Discard, begun)
		}
		return
	}
}

// handle handles one event of a unit. Only the lead may send events that concern the trial.
func (s *Supervisor) handle(u *Unit, event lab.Event) {
	switch {
	case event.Event == lab.EventFailed:
		u.failure = event.Error
	case u.Spec.Foreign: // its keeper reports that the program has succeeded; the end of the keeper is judged
	case event.Event == lab.EventReport:
		u.report = event.Data
	case event.Event == lab.EventClock:
		offer(u.clock, event.Data)
	case event.Event == lab.EventUsage:
		offer(u.usage, event.Data)
	case event.Event == lab.EventFile:
		if err := s.handed.take(u.Spec.Name, event.Data); err != nil {
			s.Fail(fmt.Errorf("unit %s hands over a file: %w", u.Spec.Name, err))
		}
	case u.Spec.Name == s.lead && event.Event == lab.EventLoaded:
		s.passLoaded(event.Data)
	case u.Spec.Name == s.lead:
		if event.Event == lab.EventReady {
			u.markUsable()
			if err := s.beginLoad(); err != nil {
				s.Fail(err)
				return
			}
		}
		s.pass(event)
	default:
		s.Fail(fmt.Errorf("unit %s said %q, but %s leads", u.Spec.Name, event.Event, s.lead))
	}
}

// passLoaded passes a second of the load to the layout's observer.
func (s *Supervisor) passLoaded(data json.RawMessage) {
	var second lab.LoadSecond
	if err := json.Unmarshal(data, &second); err != nil {
		s.Fail(fmt.Errorf("unit %s tells of a second of its load: %w", s.lead, err))
		return
	}
	if s.loaded != nil {
		s.loaded(second)
	}
}

// pass hands an event of the lead to Await. A lead that sends more events than the protocol has must not
// block the reader: the trial fails.
func (s *Supervisor) pass(event lab.Event) {
	select {
	case s.events <- event:
	default:
		s.Fail(fmt.Errorf("unit %s said %q while %d events were unread", s.lead, event.Event, len(s.events)))
	}
}

// Judge fails the trial if a unit with a control connection has ended unexpectedly. how is its error; nil
// if it has succeeded.
func (s *Supervisor) Judge(u *Unit, how error) {
	s.mu.Lock()
	isExpected := u.doomed || how == nil && s.stopping && u.failure == ""
	s.mu.Unlock()
	if isExpected {
		return
	}
	text := "ended before it was told to"
	if how != nil {
		text = "ended: " + how.Error()
	}
	if u.failure != "" {
		text = "failed: " + u.failure
	}
	if last := u.Log.lastLine(); last != "" && u.failure == "" {
		text += " (" + last + ")"
	}
	s.Fail(fmt.Errorf("%v %s", u, text))
}

// JudgeForeign is Judge for foreign units. how says how the unit ended; "" means by itself, with exit
// status 0. The end of a server replaces an earlier failure, which may be a consequence in a client.
func (s *Supervisor) JudgeForeign(u *Unit, how string) {
	if s.IsDoomed(u) {
		return
	}
	if how == "" {
		how = "ended by itself, with exit status 0: a program must stay in the foreground"
	}
	err := fmt.Errorf("%v %s%s", u, how, u.Log.LastWords())
	if u.Spec.Server == nil {
		s.Fail(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.serverEnded:
	default:
		s.failure = err
		close(s.serverEnded)
		s.fail()
	}
}

// JudgeFinished judges a container that ended by itself with exit status 0. Its work is done, but under load
// that end fails the trial.
func (s *Supervisor) JudgeFinished(u *Unit) {
	s.mu.Lock()
	isUnderLoad := s.underLoad
	s.mu.Unlock()
	if isUnderLoad {
		s.JudgeForeign(u, "ended under load, with exit status 0: a service must stay in the foreground, and a job "+
			"must end before the load (depends_on with condition: service_completed_successfully)")
	}
}

// JudgeEnd is Judge for units of either kind; it is called before Ended is closed. awaitPrepared judges the
// end of commands that prepare.
func (s *Supervisor) JudgeEnd(u *Unit, how error) {
	u.outcome = how
	switch {
	case u.Prepares || s.startsAgain(u, how):
	case how == nil && u.Spec.Container != nil:
		s.JudgeFinished(u)
	case !u.Spec.Foreign:
		s.Judge(u, how)
	case how != nil:
		s.JudgeForeign(u, "ended: "+how.Error())
	default:
		s.JudgeForeign(u, "")
	}
}

// Fail fails the trial with the first error; later errors are consequences.
func (s *Supervisor) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
		s.fail()
	}
}

// SetServerNotice sets the longest time until the supervisor learns of a server's end, for platforms that
// need more than serverNotice. It is called before the first unit is added.
func (s *Supervisor) SetServerNotice(longest time.Duration) { s.notice = longest }

// Failed implements lab.Deployment.
func (s *Supervisor) Failed() <-chan struct{} { return s.failed }

// serverNotice is the usual longest time until the supervisor learns of a server's end. Failure waits for it,
// because clients of the server can fail before that.
const serverNotice = 200 * time.Millisecond

// Failure implements lab.Deployment.
func (s *Supervisor) Failure() error {
	select {
	case <-s.failed:
	default:
		return nil
	}
	if s.servers {
		select {
		case <-s.serverEnded:
		case <-time.After(s.notice):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Doom marks a unit as killed on purpose: its end is no failure.
func (s *Supervisor) Doom(u *Unit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.HasEnded() {
		return fmt.Errorf("unit %s has ended before it was killed", u.Spec.Name)
	}
	u.doomed = true
	return nil
}

// spare undoes Doom for a unit that still runs: its end is a failure again.
func (s *Supervisor) spare(u *Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !u.HasEnded() {
		u.doomed = false
	}
}

// IsDoomed reports whether the unit was killed on purpose.
func (s *Supervisor) IsDoomed(u *Unit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.doomed
}

// expectEnds records that units are expected to end from now on.
func (s *Supervisor) expectEnds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	s.underLoad = false
}

// Await implements lab.Deployment.
func (s *Supervisor) Await(ctx context.Context, kind lab.EventKind) (lab.Event, error) {
	select {
	case event := <-s.events:
		if event.Event != kind {
			return event, fmt.Errorf("unit %s said %q, expected %q", s.lead, event.Event, kind)
		}
		return event, nil
	case <-s.failed:
		return lab.Event{}, s.Failure()
	case <-ctx.Done():
		return lab.Event{}, fmt.Errorf("wait for %q from unit %s: %w", kind, s.lead, context.Cause(ctx))
	}
}

// Command implements lab.Deployment.
func (s *Supervisor) Command(command lab.Command) error {
	switch command.Command {
	case lab.CommandStart:
		s.mu.Lock()
		s.underLoad = true
		s.mu.Unlock()
	case lab.CommandStop:
		s.expectEnds()
	}
	lead := s.Named(s.lead)
	if lead == nil {
		return fmt.Errorf("the layout has no unit %q to lead it", s.lead)
	}
	return lead.send(command)
}

// Reports implements lab.Deployment. It waits for the end of the lead, and then ends the other units with a
// control connection, stage by stage.
func (s *Supervisor) Reports(ctx context.Context) ([]lab.UnitReport, error) {
	if lead := s.Named(s.lead); lead != nil {
		if err := lead.AwaitEnd(ctx); err != nil {
			return nil, err
		}
	}
	all := s.All()
	controlled := slices.DeleteFunc(slices.Clone(all),
		func(u *Unit) bool { return u.Spec.Foreign || u.Spec.Name == s.lead })
	slices.SortStableFunc(controlled, func(a, b *Unit) int { return cmp.Compare(a.Spec.Stage, b.Spec.Stage) })
	var err error
	for len(controlled) > 0 && err == nil {
		next := slices.IndexFunc(controlled, func(u *Unit) bool { return u.Spec.Stage > controlled[0].Spec.Stage })
		if next < 0 {
			next = len(controlled)
		}
		err = endStage(ctx, controlled[:next])
		controlled = controlled[next:]
	}
	return s.reports(all, err)
}

// endStage tells units to stop and waits until they have ended.
func endStage(ctx context.Context, units []*Unit) error {
	for _, u := range units {
		_ = u.send(lab.Command{Command: lab.CommandStop}) // refused by those that have ended
	}
	for _, u := range units {
		if err := u.AwaitEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reports returns the reports of the units that have ended. Its error joins the failure of the trial and err.
func (s *Supervisor) reports(units []*Unit, err error) ([]lab.UnitReport, error) {
	var all []lab.UnitReport
	for _, u := range units {
		if u.HasEnded() && u.report != nil {
			all = append(all, lab.UnitReport{Unit: u.Spec.Name, PID: u.PID, Data: u.report})
		}
	}
	return all, errors.Join(s.Failure(), err)
}

// HandedOver implements lab.Deployment.
func (s *Supervisor) HandedOver() string { return s.handed.folder }
