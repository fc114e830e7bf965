package behaviour

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func booksAndCancels(s *session) {
	before := time.Now().Add(-time.Second)
	if none := s.booked(); len(none) != 0 {
		s.Fatalf("booked before: %+v", none)
	}
	single := s.book("ATH-ATL-20260227-2")
	time.Sleep(20 * time.Millisecond) // so that the times differ
	pair := s.book("ATL-ATH-20260301-12", "AMS-ATL-20260228-1")
	all := slices.Concat(single, pair)
	if flights := flightsOf(all); !slices.Equal(flights,
		[]string{"ATH-ATL-20260227-2", "ATL-ATH-20260301-12", "AMS-ATL-20260228-1"}) {
		s.Errorf("booked %q, in another order than asked", flights)
	}
	for _, b := range all {
		booked, err := time.Parse("2006-01-02T15:04:05.000Z", b.Booked)
		if err != nil || booked.Before(before) || booked.After(time.Now().Add(time.Second)) || b.Login != s.login ||
			!regexp.MustCompile("^[0-9a-f]{32}$").MatchString(b.ID) {
			s.Errorf("made %+v", b)
		}
	}
	slices.SortFunc(all, func(a, b booking) int { return strings.Compare(a.Booked+a.ID, b.Booked+b.ID) })
	if listed := s.booked(); !slices.Equal(listed, all) {
		s.Errorf("listed %+v, want %+v", listed, all)
	}
	other := s.other()
	if theirs := other.book("ATH-ATL-20260227-2"); theirs[0].ID == single[0].ID {
		s.Error("two bookings have one id")
	}
	s.refused("cancel another's", other.ask("DELETE", "/bookings/"+single[0].ID, ""), "not-yours")
	if got := s.ask("DELETE", "/bookings/"+single[0].ID, ""); got.status != 204 {
		s.Errorf("cancel: %s", got)
	}
	s.refused("cancel twice", s.ask("DELETE", "/bookings/"+single[0].ID, ""), "unknown-booking")
	for _, id := range []string{strings.Repeat("0", 32), "1", strings.ToUpper(pair[0].ID) + "x", pair[0].Flight,
		strings.Repeat("a", 1000), "%00", "%F0%9F%9B%AB"} {
		s.refused("cancel "+id, s.ask("DELETE", "/bookings/"+id, ""), "unknown-booking")
	}
	if left := flightsOf(s.booked()); len(left) != 2 || slices.Contains(left, "ATH-ATL-20260227-2") {
		s.Errorf("left are %q", left)
	}
	if again := s.book("ATH-ATL-20260227-2"); again[0].ID == single[0].ID {
		s.Error("booked again under the old id")
	}
	if left := flightsOf(other.booked()); !slices.Equal(left, []string{"ATH-ATL-20260227-2"}) {
		s.Errorf("the other customer has %q", left)
	}
}

func refusesBookings(s *session) {
	for what, body := range map[string]string{
		"none": order(), "three": order("AMS-ATH-20260227-1", "AMS-ATH-20260227-2", "AMS-ATH-20260227-3"),
		"one twice":   order("AMS-ATH-20260227-1", "AMS-ATH-20260227-1"),
		"an empty id": order(""), "an empty second": order("AMS-ATH-20260227-1", ""),
		"a long id": order(strings.Repeat("A", 257)), "a text": `{"flights":"AMS-ATH-20260227-1"}`,
		"numbers": `{"flights":[1]}`, "null": `{"flights":null}`, "a null": `{"flights":[null]}`,
		"lists": `{"flights":[["AMS-ATH-20260227-1"]]}`, "nothing": `{}`,
		"an object":   `{"flights":{"0":"AMS-ATH-20260227-1"}}`,
		"more fields": `{"flights":["AMS-ATH-20260227-1"],"login":"c0"}`,
		"in capitals": `{"Flights":["AMS-ATH-20260227-1"]}`,
	} {
		s.refused(what, s.ask("POST", "/bookings", body), "bad-request")
	}
	for _, id := range []string{
		"AMS-ATH-20260227-13", "AMS-ATH-20260302-1", "AMS-CDG-20260227-1", "AMS-AMS-20260227-1",
		"AMS-ATH-20260227-0", "AMS-ATH-20260227-01", "AMS-ATH-20260227", "ams-ath-20260227-1",
		" AMS-ATH-20260227-1", "AMS-ATH-20260227-1/", "..", "../sessions/x", "%2e", "AMS-ATH-20260227-1?x", "x",
		"🛫", "$ne", "\x00", strings.Repeat("A", 256),
	} {
		s.refused(fmt.Sprintf("flight %.40q", id), s.ask("POST", "/bookings", order(id)), "unknown-flight")
	}
	if all := s.booked(); len(all) != 0 {
		s.Errorf("what was refused was booked: %+v", all)
	}
}

func booksAllOrNothing(s *session) {
	const first, second, third = "AMS-BKK-20260227-1", "BKK-AMS-20260228-1", "AMS-BKK-20260301-1"
	s.refused("an unknown second", s.ask("POST", "/bookings", order(first, "AMS-BKK-20260227-99")),
		"unknown-flight")
	s.refused("an unknown first", s.ask("POST", "/bookings", order("AMS-BKK-20260227-99", first)),
		"unknown-flight")
	s.book(second)
	s.refused("the same", s.ask("POST", "/bookings", order(second)), "already-booked")
	s.refused("booked is the second", s.ask("POST", "/bookings", order(first, second)), "already-booked")
	s.refused("booked is the first", s.ask("POST", "/bookings", order(second, third)), "already-booked")
	s.refused("booked is one, unknown the other",
		s.ask("POST", "/bookings", order(second, "AMS-BKK-20260227-99")), "unknown-flight")
	if flights := flightsOf(s.booked()); !slices.Equal(flights, []string{second}) {
		s.Errorf("booked are %q", flights)
	}
	pair := s.book(first, third)
	for _, b := range pair { // bookings made together can be cancelled one by one
		if got := s.ask("DELETE", "/bookings/"+b.ID, ""); got.status != 204 {
			s.Errorf("cancel one of two: %s", got)
		}
	}
	again := s.book(third, first)
	for _, b := range slices.Backward(again) {
		if got := s.ask("DELETE", "/bookings/"+b.ID, ""); got.status != 204 {
			s.Errorf("cancel one of two: %s", got)
		}
	}
	if flights := flightsOf(s.booked()); !slices.Equal(flights, []string{second}) {
		s.Errorf("left are %q", flights)
	}
}

// booksOnceAtATime books the same flights several times at once, of which one may succeed, and cancels that.
func booksOnceAtATime(s *session) {
	const out, back = "ATL-BKK-20260227-1", "BKK-ATL-20260228-1"
	bodies := []string{order(out), order(back, out), order(out, back)}
	for round := range 5 {
		answers := s.atOnce(12, "POST", "/bookings", func(i int) string {
			if round > 0 {
				return bodies[1+i%2]
			}
			return bodies[0]
		})
		made := 0
		for _, got := range answers {
			if got.status == 201 {
				made++
			} else {
				s.refused("one of many at once", got, "already-booked")
			}
		}
		listed := s.booked()
		flights := flightsOf(listed)
		slices.Sort(flights)
		want := []string{out}
		if round > 0 {
			want = append(want, back)
		}
		if made != 1 || !slices.Equal(flights, want) {
			s.Errorf("round %d: %d of %d were booked, and booked are %q", round, made, len(answers), flights)
		}
		for _, b := range listed {
			s.cancelsOnceAtATime(b)
		}
	}
}

// cancelsOnceAtATime cancels a booking several times at once, of which one may succeed.
func (s *session) cancelsOnceAtATime(b booking) {
	s.Helper()
	cancelled := 0
	for _, got := range s.atOnce(12, "DELETE", "/bookings/"+b.ID, func(int) string { return "" }) {
		if got.status == 204 {
			cancelled++
		} else {
			s.refused("one of many cancellations at once", got, "unknown-booking")
		}
	}
	if cancelled != 1 {
		s.Errorf("%d of 12 cancellations of one booking are right", cancelled)
	}
}

// atOnce sends n requests at the same time and returns their answers.
func (s *session) atOnce(n int, method, path string, body func(i int) string) []answer {
	s.Helper()
	answers := make([]answer, n)
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() {
			var err error
			answers[i], err = s.try(s.Context(), method, s.airline.Front+path, s.token, strings.NewReader(body(i)))
			if err != nil {
				s.Error(err)
			}
		})
	}
	asking.Wait()
	return answers
}
