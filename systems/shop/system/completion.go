package system

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/systems/shop/reference"
)

// tally holds the orders of a trial: the history of the clients, joined with the
// observations of the units. Times are nanoseconds since 1970.
type tally struct {
	begun int64 // the measured load's beginning
	// final are the measured load's orders that became final, the first first.
	final []followed
	// accepted counts the measured load's orders that were answered rightly; open, the
	// accepted orders that never became final; unknown, the orders whose client had no
	// answer.
	accepted, open, unknown int
	// since counts all orders that became final after the measured load began, all the
	// orders of the whole trial: a warm-up has orders too.
	since, all int
	// Of changes made since begun: when read models showed them, and when the orders'
	// replica of the catalog had them.
	showings, replicated []observation.Showing
	// pages counts the pages that the measured load read and that showed a price; stale has the
	// times in seconds since the prices of some had been replaced.
	pages int
	stale []float64
}

// newTally returns the tally of a trial: the history, joined with the observations in the trial's directory.
// ids are the ids of orders by their keys; see addOrder.
func newTally(attempts []attempt, dir string, ids map[string]string) (t tally, err error) {
	observed, err := observation.Read(dir)
	if err != nil {
		return t, err
	}
	for _, a := range attempts {
		if a.WarmUp || a.Operation != creating {
			continue
		}
		if t.begun == 0 || a.Begun < t.begun {
			t.begun = a.Begun
		}
		t.addOrder(a, ids, observed.Finals)
	}
	slices.SortStableFunc(t.final, func(a, b followed) int { return cmp.Compare(a.final, b.final) })
	t.all = len(observed.Finals)
	for _, at := range observed.Finals {
		if at >= t.begun {
			t.since++
		}
	}
	for change, s := range observed.Showings {
		switch {
		case s.Made < t.begun:
		case strings.HasPrefix(change.Document, reference.Products):
			t.replicated = append(t.replicated, s)
		default:
			t.showings = append(t.showings, s)
		}
	}
	return t, nil
}

// addOrder adds one order of the measured load. If its client had no answer, ids may have
// its id by the key.
func (t *tally) addOrder(a attempt, ids map[string]string, finals map[string]int64) {
	right := a.End == string(audit.OutcomeOK)
	if right {
		t.accepted++
	}
	if a.End == string(audit.OutcomeInfo) && a.Noted.Order == "" {
		t.unknown++
	}
	order := cmp.Or(a.Noted.Order, ids[a.Noted.Key])
	if final, is := finals[order]; is {
		t.final = append(t.final, followed{order: order, intended: a.Begun + a.Intended, sent: a.Begun + a.Sent,
			final: final, right: right})
	} else if right {
		t.open++
	}
}

// idsByKey returns the ids of all orders on record, by their idempotency key.
func idsByKey(ctx context.Context, v lab.Variant, left lab.Leftover) (ids map[string]string, err error) {
	databases, err := openAll(ctx, v, left)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, databases.Close()) }()
	ids = map[string]string{}
	err = databases[shop.ComponentOrders].Each(ctx, func(row database.Row) error {
		var key, id string
		err := row.Scan(&key, &id)
		ids[key] = id
		return err
	}, "SELECT idempotency_key, order_id FROM orders")
	return ids, err
}

// completions returns the times from the intended start to the final state, in seconds.
func (t *tally) completions() []float64 {
	times := make([]float64, len(t.final))
	for i, f := range t.final {
		times[i] = seconds(f.took())
	}
	return times
}

// staleness returns the times from a change until it was shown, in seconds.
func staleness(showings []observation.Showing) []float64 {
	times := make([]float64, len(showings))
	for i, s := range showings {
		times[i] = seconds(s.Shown - s.Made)
	}
	return times
}

// rates returns the orders per second that became final, and those of them that had been
// answered rightly. If the load lasted window seconds, only orders count that became final
// in this time. If window is 0, as for counted and closed loads, the time ends with the last
// order that became final. They are unknown if that was before the beginning: the clocks are
// further apart than the load lasted.
func (t *tally) rates(window float64) (completed, good float64, known bool) {
	if len(t.final) == 0 {
		return 0, 0, true
	}
	until := t.final[len(t.final)-1].final
	if window > 0 {
		until = t.begun + int64(1e9*window)
	}
	if until <= t.begun {
		return 0, 0, false
	}
	for _, f := range t.final {
		if f.final <= until {
			completed++
			if f.right {
				good++
			}
		}
	}
	lasted := seconds(until - t.begun)
	return completed / lasted, good / lasted, true
}

// openAt returns the share of accepted orders that were not final window seconds after
// the load began.
func (t *tally) openAt(window float64) float64 {
	late := t.open
	for _, f := range t.final {
		if f.right && f.final > t.begun+int64(1e9*window) {
			late++
		}
	}
	return float64(late) / float64(t.accepted)
}

// Figures of an audit, in addition to those of the load.
const (
	// figureNeverFinal counts accepted orders that were never seen to become final:
	// they have no time to completion.
	figureNeverFinal = "orders_never_final"
	// figureUnseen counts orders that are final on record but in no unit's notes: a unit was killed between
	// commit and note.
	figureUnseen = "orders_final_unseen"
)

// mostBehind limits the accepted orders that may be open when an open load ends, in seconds
// of its rate. More are a backlog.
const mostBehind = 1

// withCompletion adds the orders without a time to completion. A rate at which orders pile
// up, accepted or not, was not held. The clocks of units may be apart: an order counts as
// open at the end of the load only if it is open by every clock.
func withCompletion(
	judged lab.Audit, load lab.LoadReport, attempts []attempt, left lab.Leftover,
) lab.Audit {
	orders, err := newTally(attempts, left.Dir, nil)
	if err != nil {
		judged.Problems = append(judged.Problems, err.Error())
		if judged.Verdict == lab.AuditValid {
			judged.Verdict = lab.AuditUnknown
		}
		return judged
	}
	onRecord := 0.0
	for _, state := range []shop.State{shop.StateConfirmed, shop.StateRejected, shop.StateCancelled} {
		onRecord += float64(judged.Counts[string(state)])
	}
	atEnd := load.Duration + left.ClocksApart.Seconds()
	pilesUp := orders.accepted > 0 && orders.openAt(atEnd)*load.Duration > mostBehind
	if pilesUp && judged.Figures[lab.FigureHeld] > 0 {
		judged.Figures[lab.FigureHeld] = 0
	}
	judged.Figures[figureNeverFinal] = float64(orders.open)
	judged.Figures[figureUnseen] = onRecord - float64(orders.all)
	return judged
}

// spectrum returns the values at the kept shares. It leaves out shares above which there is
// no value, except the last. It sorts its argument.
func spectrum(values []float64) []lab.Quantile {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	var all []lab.Quantile
	for _, share := range lab.SpectrumShares() {
		if share == 1 || (1-share)*float64(len(values)) >= 1 {
			all = append(all, lab.Quantile{Share: share, Value: loaded.Percentile(values, share)})
		}
	}
	return all
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }
