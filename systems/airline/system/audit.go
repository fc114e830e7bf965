package system

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// The counts of an audit, in bookings.
const (
	countBooked    = "booked"    // acknowledged
	countCancelled = "cancelled" // of these, acknowledged too
	countStored    = "stored"
	countLost      = "lost"    // booked, not cancelled, and not stored
	countDoubled   = "doubled" // one id, or one flight of one customer, stored more than once
	countHalved    = "halved"  // of two flights that were asked for together, one is stored
	countMadeUp    = "made_up" // stored, and never asked for, refused, or cancelled
)

// AuditLive implements lab.LiveAuditor: it compares the answers to customers with the stored bookings.
func (s System) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	return s.base().Judge(airline.Name, p, left, func() (lab.Audit, error) {
		j := &judge{Findings: loaded.Findings{Counts: map[string]int64{}}, asked: map[seat][]*request{},
			cancelled: map[string]string{}, taken: map[seat]bool{}}
		design, err := architecture.New(v.Architecture, v.Knobs)
		if err == nil {
			err = loaded.EachAttempt(left.Dir, j.addAttempt)
		}
		if err == nil {
			err = j.read(ctx, left, design.Booking())
		}
		return j.verdict(), err
	})
}

// noted is the scenario's note of a booking or a cancellation.
type noted struct {
	Login  string `json:"customer.login"`
	Out    string `json:"trip.out"`
	Back   string `json:"trip.back"`
	OutID  string `json:"out"`
	BackID string `json:"back"`
}

// seat is a flight of a customer, who has one seat in it at most.
type seat struct{ login, flight string }

// request is an attempt to book two seats together.
type request struct {
	end    string // loaded.EndedOK, EndedFail or EndedInfo
	seats  [2]seat
	ids    [2]string // empty: the client had no answer
	stored [2]int
}

// judge compares the answers to customers with the stored bookings.
type judge struct {
	loaded.Findings
	asked     map[seat][]*request
	requests  []*request
	cancelled map[string]string // by the id of the booking: how the last attempt ended
	taken     map[seat]bool     // of which a booking is stored
}

// addAttempt adds a line of the history.
func (j *judge) addAttempt(a loaded.Attempt[noted]) {
	n := a.Noted
	switch a.Operation {
	case opBook:
		r := &request{end: a.End, ids: [2]string{n.OutID, n.BackID},
			seats: [2]seat{{n.Login, n.Out}, {n.Login, n.Back}}}
		for _, s := range r.seats {
			j.asked[s] = append(j.asked[s], r)
		}
		j.requests = append(j.requests, r)
		if j.Ended(a.End, countBooked); a.End == loaded.EndedOK {
			j.Counts[countBooked]++ // Ended has counted one of the two
		}
	case opCancel:
		id := n.OutID + n.BackID // the step notes one
		j.cancelled[id] = a.End
		switch a.End {
		case loaded.EndedOK:
			j.Counts[countCancelled]++
		case loaded.EndedInfo:
			j.Counts[loaded.CountUnknown]++
		}
	}
}

// readPatience limits the time, and maxListed the bytes, of a unit's list of all bookings.
const readPatience, maxListed = time.Minute, 1 << 30

// read reads the stored bookings: from the file of a unit that has ended, or from a unit that still runs, as
// those in other languages do (see lab.Leftover).
func (j *judge) read(ctx context.Context, left lab.Leftover, unit string) (err error) {
	var from io.ReadCloser
	from, err = os.Open(filepath.Join(left.Dir, airlineunit.BookingsFile))
	if address := left.Foreign[unit]; errors.Is(err, fs.ErrNotExist) && address != "" {
		ctx, cancel := context.WithTimeout(ctx, readPatience)
		defer cancel()
		from, err = listed(ctx, address, maxListed)
	}
	if err != nil {
		return fmt.Errorf("read the bookings of unit %s: %w", unit, err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	decoder := json.NewDecoder(bufio.NewReader(from))
	ids := map[string]bool{}
	for { // not while decoder.More(), which ends in silence when the connection breaks
		var b airline.Booking
		if err := decoder.Decode(&b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the bookings of unit %s, number %d: %w", unit, j.Counts[countStored]+1, err)
		}
		j.Counts[countStored]++
		if ids[b.ID] {
			j.Breach(countDoubled, "the id %s is stored twice", b.ID)
		}
		ids[b.ID] = true
		j.addStored(b)
	}
}

// listed returns the list of all bookings of a unit. To read more than most bytes of it is an error.
func listed(ctx context.Context, address string, most int64) (io.ReadCloser, error) {
	answer, err := get(ctx, address, "/internal/bookings")
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{bounded.New(answer.Body, most), answer.Body}, nil
}

// addStored judges a stored booking. A customer may have asked for a flight more than once: after a
// cancellation, or in vain. All these requests are for the same two seats, since a flight is in one trip
// only.
func (j *judge) addStored(b airline.Booking) {
	s := seat{b.Login, b.Flight}
	asked := j.asked[s]
	at := slices.IndexFunc(asked, func(r *request) bool { return r.ids[r.number(s)] == b.ID })
	if at < 0 {
		at = slices.IndexFunc(asked, func(r *request) bool { return r.end == loaded.EndedInfo })
	}
	if at < 0 {
		j.Breach(countMadeUp, "%s has %s (%s), which was refused, answered with another id, or never asked for",
			b.Login, b.Flight, b.ID)
		return
	}
	r := asked[at]
	r.stored[r.number(s)]++
	if j.cancelled[b.ID] == loaded.EndedOK {
		j.Breach(countMadeUp, "%s has %s (%s), which was cancelled", b.Login, b.Flight, b.ID)
	}
	if j.taken[s] {
		j.Breach(countDoubled, "%s has %s more than once", b.Login, b.Flight)
	}
	j.taken[s] = true
}

// number returns the index of a seat among the two of the request.
func (r *request) number(s seat) int { return slices.Index(r.seats[:], s) }

// verdict returns the audit, after it has looked for lost bookings and for pairs with only one stored.
func (j *judge) verdict() lab.Audit {
	for _, r := range j.requests {
		if r.end == loaded.EndedInfo && r.stored[0]+r.stored[1] > 0 {
			j.Counts[loaded.CountRecovered]++
		}
		if r.end == loaded.EndedInfo && r.stored[0] != r.stored[1] {
			j.Breach(countHalved, "%s has one of %s and %s, which were asked for together", r.seats[0].login,
				r.seats[0].flight, r.seats[1].flight)
		}
		for i, id := range r.ids {
			attempt, tried := j.cancelled[id]
			mayBeCancelled := tried && attempt != loaded.EndedFail
			if r.end == loaded.EndedOK && r.stored[i] == 0 && !mayBeCancelled {
				j.Breach(countLost, "%s has booked %s (%s), and it is not stored", r.seats[i].login, r.seats[i].flight,
					id)
			}
		}
	}
	return j.Audit([]string{countLost, countDoubled, countHalved, countMadeUp}, countBooked,
		"no booking was acknowledged")
}
