// Package audit judges what a trial of the shop has left behind: it compares the answers
// to clients (a history, one line per attempt) with the databases. Nothing may be lost,
// doubled, half done or made up; stock and money must add up.
//
// It reads the databases itself and imports no component that it judges: it shares only the shop's contract
// with them, such as the states of an order. Its verdict is valid, invalid or unknown; unknown is not valid.
// Entry points: Read for the databases, Judge for the verdict.
//
// The rules, by number:
//
//  1. No accepted order is lost.
//  2. No order is doubled.
//  3. Every order was asked for and not refused.
//  4. Every order is final, and nothing is left over.
//  5. Money is conserved.
//  6. Stock is conserved.
//  7. An order has all its steps or none. A step comes after those on which it depends. Steps are undone
//     once, the last first.
//  8. The states of an order follow the state machine.
//  9. Read models agree with the tables.
//  10. Every change was published once to each component that needs it, and nothing else was published.
//  11. A key keeps its order.
//  12. A page shows a price that was valid, or that was replaced no longer before than the source of the page
//     may lag.
//  13. Every row agrees with the requests and with the fresh shop.
//  14. An order has a price that was valid when the order was priced, or that the orders' replica still had.
package audit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
)

// Input holds what a trial has left behind.
type Input struct {
	Seed shop.Seed
	// Fresh is the state of the shop before the trial: the seed, as a rule.
	Fresh   Fresh
	History []Attempt
	// UnixClock is true if the times of the history count from 1970, like the times on record.
	UnixClock bool
	State     State
	// Coordination is the coordination of the orders' steps. If it is empty the order of
	// the steps, and so the verdict, is unknown.
	Coordination Coordination
	// Replica holds observations of the copy of the catalog that priced the orders; nil: the catalog priced
	// them.
	Replica *Replica
	// Reads is the source of the prices that clients read; nil: the catalog.
	Reads *Reads
	// ClocksApart is the greatest difference between the clocks of two units; 0: they share
	// one. Steps of different units whose times are closer may have come in either order.
	ClocksApart time.Duration
	// Drained is true if the system had its full time to finish: an order that is not final breaks rule 4.
	// If Drained is false, such an order makes the verdict unknown.
	Drained bool
	// Left are counts that must be zero in the end, by name: saga rows, outbox rows,
	// ready and unacknowledged messages.
	Left map[string]int64
	// Views are the read models; nil: clients read the tables.
	Views *Views
	// Sagas are the states of the sagas, by order, if the orders drive them over the broker.
	Sagas map[string]string
	// Inboxes are the inboxes of the components that take events, by name.
	Inboxes map[string]Inbox
}

// Fresh holds the products and customers of a shop that was never used.
type Fresh interface {
	Product(id int64) shop.SeedProduct
	Customer(id int64) shop.SeedCustomer
}

// Judge applies all rules.
func Judge(in Input) lab.Audit {
	j := &judge{Input: in, counts: map[string]int64{}, broken: map[int]int64{}, problems: map[int][]string{}}
	j.index()
	j.checkKeys()
	j.checkOrders()
	j.checkOrphans()
	j.checkContent()
	j.checkSeeded()
	j.checkPrices()
	j.checkReads()
	j.checkCourses()
	j.checkMoney()
	j.checkStock()
	j.checkSequences()
	j.checkLeft()
	j.checkSagas()
	j.checkViews()
	j.checkMessages()
	return j.verdict()
}

// shownPerRule bounds the problems of a rule that are named one by one.
const shownPerRule = 5

// judge holds the evidence and what the rules have found so far.
type judge struct {
	Input
	byKey    map[string][]*Order    // the orders on record, by idempotency key
	counts   map[string]int64       // by name: orders by state; attempts by Outcome, such as "ok"; "stuck"
	prices   map[int64][]Price      // of each product, by version: [0] is the first price
	answered map[PriceVersion]int64 // time of the answer to the change of a price, in nanoseconds
	known    map[PriceVersion]int64 // time from which the orders must know a price, in nanoseconds
	broken   map[int]int64          // violations by rule
	problems map[int][]string       // the first of them
	unknown  []string               // reasons why the verdict is unknown
}

// breach notes that a rule is broken.
func (j *judge) breach(rule int, format string, args ...any) {
	j.broken[rule]++
	if j.broken[rule] <= shownPerRule {
		j.problems[rule] = append(j.problems[rule], fmt.Sprintf("I%d: ", rule)+fmt.Sprintf(format, args...))
	}
}

func (j *judge) index() {
	j.byKey = make(map[string][]*Order, len(j.State.Orders))
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		order := j.State.Orders[id]
		j.byKey[order.Key] = append(j.byKey[order.Key], order)
		j.counts["orders"]++
		j.counts[string(order.State)]++
	}
	j.indexPrices()
}

// verdict returns the counts, the problems by rule and what follows from them.
func (j *judge) verdict() lab.Audit {
	var problems []string
	for _, rule := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14} {
		j.counts[fmt.Sprintf("broken_i%d", rule)] = j.broken[rule]
		slices.Sort(j.problems[rule])
		problems = append(problems, j.problems[rule]...)
		if more := j.broken[rule] - shownPerRule; more > 0 {
			problems = append(problems, fmt.Sprintf("I%d: and %d more", rule, more))
		}
	}
	switch {
	case j.counts["ok"] == 0:
		j.unknown = append(j.unknown, "no order was accepted: nothing was tested")
	case j.Drained && j.counts[string(shop.StateConfirmed)]+j.counts[string(shop.StateCancelled)] == 0:
		j.unknown = append(j.unknown, "nothing was confirmed: that orders are carried out was not tested")
	}
	if !j.Drained && j.counts["stuck"] > 0 {
		j.unknown = append(j.unknown, fmt.Sprintf("%d orders are not final and were not waited for",
			j.counts["stuck"]))
	}
	audit := lab.Audit{Verdict: lab.AuditValid, Counts: j.counts, Problems: append(problems, j.unknown...)}
	switch {
	case len(problems) > 0:
		audit.Verdict = lab.AuditInvalid
	case len(j.unknown) > 0:
		audit.Verdict = lab.AuditUnknown
	}
	return audit
}
