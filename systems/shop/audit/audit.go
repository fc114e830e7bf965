// Package audit judges what a trial of the shop has left behind: it compares the answers
// to clients (a history, one line per attempt) with the databases. Nothing may be lost,
// doubled, half done or made up; stock and money must add up.
//
// It reads tables by SQL and shares nothing with the components that it judges but
// the declared states of an order. Its verdict is valid, invalid or unknown;
// unknown is not valid. Entry points: Read for the databases, Judge for the verdict.
//
// Rules by number: 1 no accepted order lost, 2 none doubled, 3 none from nowhere,
// 4 all final, 5 money conserved, 6 stock conserved, 7 all steps or none, each after
// those that it depends on, undone once and the last first, 8 states follow the
// machine, 9 read models say what the tables say, 10 every change was published once to
// each component that needs it, and nothing else was, 11 a key keeps its order, 12 a page shows a
// price that was valid, or had been replaced for no longer than its source may lag, 13 every row
// says what was asked for and what the shop began with, 14 an order has a price that was
// valid when it was taken, or that the orders' replica still had.
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
	// UnixClock: the times of the history count from 1970, as the times on record do.
	UnixClock bool
	State     State
	// Coordination is the coordination of the orders' steps. If it is empty the order of
	// the steps, and so the verdict, is unknown.
	Coordination Coordination
	// Replica holds the observations of the copy that priced the orders; nil: the catalog priced them.
	Replica *Replica
	// Reads is the source of the prices that clients read; nil: the catalog.
	Reads *Reads
	// ClocksApart is the greatest difference between the clocks of two units; 0: they share
	// one. Steps of different units whose times are closer may have come in either order.
	ClocksApart time.Duration
	// Drained: the system had its full time to finish, so that an order that is not final
	// is stuck. Otherwise such an order makes the verdict unknown.
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
	j := &judge{Input: in, counts: map[string]int64{}, broken: map[int]int64{}}
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
	byKey    map[string][]*Order
	counts   map[string]int64
	prices   map[int64][]Price      // of each product, by version: [0] is the first price
	answered map[PriceVersion]int64 // when the client that changed a price had its answer
	known    map[PriceVersion]int64 // from when on orders must have had the price
	broken   map[int]int64          // violations by rule
	problems []string
	unknown  []string // reasons why the verdict is unknown
}

// breach notes that a rule is broken.
func (j *judge) breach(rule int, format string, args ...any) {
	j.broken[rule]++
	if j.broken[rule] <= shownPerRule {
		j.problems = append(j.problems, fmt.Sprintf("I%d: ", rule)+fmt.Sprintf(format, args...))
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

// verdict returns the counts, the problems and what follows from them.
func (j *judge) verdict() lab.Audit {
	for _, rule := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14} {
		j.counts[fmt.Sprintf("broken_i%d", rule)] = j.broken[rule]
		if more := j.broken[rule] - shownPerRule; more > 0 {
			j.problems = append(j.problems, fmt.Sprintf("I%d: and %d more", rule, more))
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
	slices.Sort(j.problems)
	audit := lab.Audit{Verdict: lab.AuditValid, Counts: j.counts, Problems: append(j.problems, j.unknown...)}
	switch {
	case len(j.problems) > 0:
		audit.Verdict = lab.AuditInvalid
	case len(j.unknown) > 0:
		audit.Verdict = lab.AuditUnknown
	}
	return audit
}
