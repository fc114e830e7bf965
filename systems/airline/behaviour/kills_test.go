package behaviour

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

const (
	// writers book and cancel at once, each for a customer of its own.
	writers = 6
	// kills is the number of times that the unit with the bookings is killed meanwhile.
	kills = 3
	// betweenKills is the least time between two kills.
	betweenKills = 700 * time.Millisecond
)

// writer is a customer who books and cancels, and records what was acknowledged.
type writer struct {
	*session
	booked       map[string]booking // by flight: acknowledged, and not cancelled
	gone         map[string]bool    // ids whose cancellation was acknowledged
	acknowledged *atomic.Int64      // number of acknowledgements to all writers
	perhaps      [][]string         // flights booked together without an answer: all or none are booked
	leaving      map[string]bool    // ids whose cancellation had no answer
}

// allFlights returns the flights of the suite's data in some order.
func allFlights() []string {
	var all []string
	airports := strings.Fields("AMS ATH ATL BKK BOM")
	for _, from := range airports {
		for _, to := range airports {
			for _, day := range []string{"20260227", "20260228", "20260301"} {
				for k := range 12 {
					if from != to {
						all = append(all, fmt.Sprintf("%s-%s-%s-%d", from, to, day, k+1))
					}
				}
			}
		}
	}
	return all
}

// keepsAcknowledged kills the unit with the bookings again and again while writers book. All acknowledged
// bookings, sessions and customers must survive.
func keepsAcknowledged(t *testing.T, a *Airline) {
	all := make([]*writer, writers)
	acknowledged := &atomic.Int64{}
	for i := range all {
		all[i] = &writer{session: newSession(t, a, 20+i), booked: map[string]booking{},
			gone: map[string]bool{}, leaving: map[string]bool{}, acknowledged: acknowledged}
		for _, b := range all[i].session.booked() {
			all[i].booked[b.Flight] = b
		}
	}
	var done atomic.Bool
	var writing sync.WaitGroup
	for _, w := range all {
		writing.Go(func() { w.write(&done) })
	}
	end := func() { done.Store(true); writing.Wait() }
	defer end()
	// work waits for as many acknowledgements as there are writers: then the next kill meets busy writers,
	// however slow this machine is.
	work := func() {
		before := acknowledged.Load()
		begun := time.Now()
		for time.Sleep(betweenKills); acknowledged.Load() < before+writers; time.Sleep(20 * time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("%d bookings were acknowledged in a minute: too few to tell anything",
					acknowledged.Load()-before)
			}
		}
	}
	unit := a.Hosting(Bookings)
	for range kills {
		work()
		testset.Must(t, a.Kill(unit))
		testset.Must(t, a.Restart(unit))
	}
	work()
	end()
	for _, w := range all {
		w.compare()
	}
	survives(all[0].session)
}

// write books, and cancels every third booking, until done. It repeats no request whose outcome is unknown.
func (w *writer) write(done *atomic.Bool) {
	const soon, late = 20 * time.Millisecond, 640 * time.Millisecond
	flights := slices.DeleteFunc(allFlights(), func(f string) bool { _, has := w.booked[f]; return has })
	pause := soon
	for n := 0; !done.Load() && len(flights) >= 2; n++ {
		size := 1 + n%2
		asked := flights[:size]
		flights = flights[size:]
		got, err := w.try(context.Background(), "POST", w.airline.Front+"/bookings", w.token,
			strings.NewReader(order(asked...)))
		var made struct{ Bookings []booking }
		switch {
		case err == nil && got.status == 201 && json.Unmarshal(got.body, &made) == nil &&
			slices.Equal(flightsOf(made.Bookings), asked):
			for _, b := range made.Bookings {
				w.booked[b.Flight] = b
			}
			w.acknowledged.Add(1)
		case err == nil && got.status < 500:
			w.Errorf("book %q: %s", asked, got)
			return
		default:
			w.perhaps = append(w.perhaps, asked)
			// Without pauses the requests to a unit that takes a minute to start would use up all flights.
			time.Sleep(pause)
			pause = min(2*pause, late)
			continue
		}
		pause = soon
		if n%3 == 2 {
			w.cancel(made.Bookings[0])
		}
		time.Sleep(10 * time.Millisecond) // otherwise a fast unit would have no flights left at the last kill
	}
}

func (w *writer) cancel(b booking) {
	got, err := w.try(context.Background(), "DELETE", w.airline.Front+"/bookings/"+b.ID, w.token,
		strings.NewReader(""))
	delete(w.booked, b.Flight)
	switch {
	case err == nil && got.status == 204:
		w.gone[b.ID] = true
		w.acknowledged.Add(1)
	case err == nil && got.status < 500:
		w.Errorf("cancel %s: %s", b.Flight, got)
	default:
		w.leaving[b.ID] = true
	}
}

// compare compares the airline's bookings with those that were acknowledged.
func (w *writer) compare() {
	listed := w.session.booked()
	byFlight := map[string]booking{}
	for _, b := range listed {
		if other, twice := byFlight[b.Flight]; twice {
			w.Errorf("%s is booked twice: %+v and %+v", b.Flight, other, b)
		}
		byFlight[b.Flight] = b
		if w.gone[b.ID] {
			w.Errorf("%+v was cancelled, and is there", b)
		}
	}
	for _, b := range w.booked {
		if byFlight[b.Flight] != b {
			w.Errorf("acknowledged was %+v, found is %+v", b, byFlight[b.Flight])
		}
		delete(byFlight, b.Flight)
	}
	for _, flights := range w.perhaps {
		there := 0
		for _, f := range flights {
			if _, is := byFlight[f]; is {
				there++
			}
			delete(byFlight, f)
		}
		if there != 0 && there != len(flights) {
			w.Errorf("of %q only a part is booked", flights)
		}
	}
	for _, b := range byFlight {
		if !w.leaving[b.ID] {
			w.Errorf("nobody booked %+v", b)
		}
	}
	stored := slices.DeleteFunc(w.stored(), func(b booking) bool { return b.Login != w.login })
	order := func(a, b booking) int { return strings.Compare(a.Booked+a.ID, b.Booked+b.ID) }
	slices.SortFunc(stored, order)
	if !slices.Equal(stored, listed) {
		w.Errorf("the audit reads %d bookings, the customer %d", len(stored), len(listed))
	}
}

// survives kills the units with sessions and customers just after they acknowledged.
func survives(s *session) {
	s.token = s.logIn(s.first)
	if got := s.ask("PUT", "/customers/"+s.login, contact("survives", "a kill")); got.status != 200 {
		s.Fatalf("change: %s", got)
	}
	for _, part := range slices.Compact([]string{s.airline.Hosting(Auth), s.airline.Hosting(Customers)}) {
		testset.Must(s, s.airline.Kill(part))
		testset.Must(s, s.airline.Restart(part))
	}
	var found person
	s.wants(s.ask("GET", "/customers/"+s.login, ""), 200, &found)
	if found.Phone != "survives" || found.Address.Street != "a kill" || found.Miles != 100*s.first {
		s.Errorf("after the kills: %+v", found)
	}
	ended := s.logIn(s.first)
	if got := s.askAs("POST", "/logout", ended, ""); got.status != 204 {
		s.Fatalf("logout: %s", got)
	}
	testset.Must(s, s.airline.Kill(s.airline.Hosting(Auth)))
	testset.Must(s, s.airline.Restart(s.airline.Hosting(Auth)))
	s.refused("a session that was ended before the kill", s.askAs("GET", "/customers/"+s.login, ended, ""),
		"no-session")
}
