package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
)

// clockSlack is the greatest change of the wall clock during a trial that the audit allows.
const clockSlack = time.Minute

// checkContent compares the rows of every order with its client's request and with the
// fresh shop: rule 13.
func (j *judge) checkContent() {
	asked := j.asked()
	for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
		order := j.State.Orders[id]
		j.checkRequest(order, asked[order.Key])
		j.checkReason(order, j.checkLines(order))
		j.checkVersion(order)
		if order.State.Final() {
			j.checkStepsOf(order)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.State.Lines)) {
		if j.State.Orders[id] == nil {
			j.breach(13, "order %s has order_lines and is not on record", id)
		}
	}
	if n := j.counts["content_unknown"]; n > 0 {
		j.unknown = append(j.unknown, fmt.Sprintf("what was asked for is not in the history of %d orders", n))
	}
}

// checkColumn notes a wrong value as a breach of rule 13. whose is a row's owner, such as
// "order 17"; column is "table.column".
func (j *judge) checkColumn(whose, column string, got, want any) {
	j.compare(13, whose, column, got, want)
}

// compare is checkColumn for any rule.
func (j *judge) compare(rule int, whose, column string, got, want any) {
	if got != want {
		j.breach(rule, "%s: %s is %#v, want %#v", whose, column, got, want)
	}
}

// request is the order that clients have asked for with a key, and the times of the attempts, in nanoseconds.
type request struct {
	what        *Asked
	first, last int64
	answered    bool
}

// asked returns the requests by key. A refused attempt may have had other content: it
// counts only if the key has no other attempt.
func (j *judge) asked() map[string]request {
	found := map[string]request{}
	for _, a := range j.History {
		if a.Operation != OperationCreate || a.Outcome == OutcomeFail {
			continue
		}
		r, known := found[a.Key]
		if !known {
			r = request{a.Asked, a.ActualNS, a.CompleteNS, false}
		}
		r.what = cmp.Or(r.what, a.Asked)
		r.first = min(r.first, a.ActualNS)
		r.last = max(r.last, a.CompleteNS)
		r.answered = r.answered || a.Outcome == OutcomeOK
		found[a.Key] = r
	}
	return found
}

// checkRequest compares an order with its request.
func (j *judge) checkRequest(order *Order, r request) {
	whose := "order " + order.ID
	if r.what == nil {
		j.counts["content_unknown"]++
		return
	}
	j.checkColumn(whose, "orders.customer_id", order.Customer, r.what.Customer)
	lines := j.State.Lines[order.ID]
	if len(lines) != len(r.what.Lines) {
		j.breach(13, "%s: there are %d order_lines, asked for were %d", whose, len(lines), len(r.what.Lines))
		return
	}
	for i, line := range lines {
		j.checkColumn(whose, "order_lines.line", line.Number, int64(i))
		j.checkColumn(whose, "order_lines.product_id", line.Product, r.what.Lines[i].Product)
		j.checkColumn(whose, "order_lines.quantity", line.Quantity, r.what.Lines[i].Quantity)
	}
	created := order.CreatedUS * int64(time.Microsecond)
	slack := int64(clockSlack + j.ClocksApart)
	tooEarly := created < r.first-slack
	tooLate := r.answered && created > r.last+slack
	if j.UnixClock && (tooEarly || tooLate) {
		j.breach(13, "%s: orders.created_unix_us is %d, its client asked at %d and had the answer at %d",
			whose, order.CreatedUS, r.first/1000, r.last/1000)
	}
}

// checkLines compares the prices and names of an order's lines, and their sum, with the
// catalog. It returns false for an order that was rejected before it was priced, which has no
// prices and names.
func (j *judge) checkLines(order *Order) (priced bool) {
	lines, total := j.State.Lines[order.ID], int64(0)
	priced = order.State != shop.StateRejected || order.TotalCents != 0
	for _, line := range lines {
		if line.Name != "" || line.PriceCents != 0 {
			priced = true
		}
		total += line.Quantity * line.PriceCents
	}
	if !priced {
		return false
	}
	whose := "order " + order.ID
	for _, line := range lines {
		j.checkColumn(whose, "order_lines.name", line.Name, j.Fresh.Product(line.Product).Name)
		j.checkPriceOf(order, line)
	}
	j.checkColumn(whose, "orders.total_cents", order.TotalCents, total)
	return true
}

// checkReason judges the reason of a rejection, and that no other order has one.
func (j *judge) checkReason(order *Order, priced bool) {
	whose := "order " + order.ID
	if order.State != shop.StateRejected {
		if order.State.Final() {
			j.checkColumn(whose, "orders.rejection_kind", order.Rejection.Kind, "")
			j.checkColumn(whose, "orders.rejection_detail", order.Rejection.Detail, "")
		}
		return
	}
	reasons := j.reasons(order, priced)[rpc.Kind(order.Rejection.Kind)]
	if reasons == nil {
		j.breach(13, "%s: orders.rejection_kind is %q, which does not reject this order", whose,
			order.Rejection.Kind)
		return
	}
	if !slices.Contains(reasons, order.Rejection.Detail) {
		j.breach(13, "%s: orders.rejection_detail is %q, which is no reason of kind %s for this order", whose,
			order.Rejection.Detail, order.Rejection.Kind)
	}
}

// reasons returns the possible reasons, by kind, for rejecting an order, in the words of the answer to its
// customer. Only an order with prices came to stock and accounts.
func (j *judge) reasons(order *Order, priced bool) map[rpc.Kind][]string {
	lines := j.State.Lines[order.ID]
	found := map[rpc.Kind][]string{}
	if priced {
		found[shop.Declined] = []string{fmt.Sprintf("the balance of customer %d does not cover %d cents",
			order.Customer, order.TotalCents)}
	}
	if order.Customer > j.Seed.Customers {
		found[shop.UnknownCustomer] = []string{fmt.Sprintf("there is no customer %d", order.Customer),
			fmt.Sprintf("customer %d has no account", order.Customer)}
	}
	for held, line := range lines {
		if line.Product > j.Seed.Products {
			found[shop.UnknownProduct] = append(found[shop.UnknownProduct],
				fmt.Sprintf("there is no product %d", line.Product))
		}
		if !priced {
			continue
		}
		short := fmt.Sprintf("the shelf holds %d of the %d lines", held, len(lines))
		if len(lines) == 1 {
			short = fmt.Sprintf("product %d: the shelf does not hold %d", line.Product, line.Quantity)
		}
		found[shop.OutOfStock] = append(found[shop.OutOfStock], short)
	}
	return found
}

// checkVersion compares an order's version with the number of its states. checkCourses
// notes a journal that cannot be read.
func (j *judge) checkVersion(order *Order) {
	entries, err := row{what: record, state: string(order.State), journal: order.Journal}.entries()
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return isNoState(e.word) })
	j.checkColumn("order "+order.ID, "orders.version", order.Version, int64(len(entries)))
}

// checkStepsOf compares the rows of the steps of a final order with the order: rules 5
// and 6 compare the sums of orders that are not rejected.
func (j *judge) checkStepsOf(order *Order) {
	whose := "order " + order.ID
	lines, reserved := j.State.Lines[order.ID], j.State.Reservations[order.ID]
	if !forbidden(reserved) && len(reserved) > 0 {
		if len(lines) != len(reserved) {
			j.breach(13, "%s: there are %d reservations of %d order_lines", whose, len(reserved), len(lines))
			return
		}
		for i, r := range reserved {
			j.checkColumn(whose, "reservations.line", r.Number, lines[i].Number)
			j.checkColumn(whose, "reservations.product_id", r.Product, lines[i].Product)
			j.checkColumn(whose, "reservations.quantity", r.Quantity, lines[i].Quantity)
		}
	}
	for _, p := range j.State.Payments[order.ID] {
		ofNothing := p.Customer == 0 && p.AmountCents == 0
		if ofNothing && order.State == shop.StateRejected {
			continue // it was forbidden before it came
		}
		j.checkColumn(whose, "payments.customer_id", p.Customer, order.Customer)
		j.checkColumn(whose, "payments.amount_cents", p.AmountCents, order.TotalCents)
	}
	for _, s := range j.State.Shipments[order.ID] {
		if s.Recipient == "" && s.Address == "" && !strings.Contains(s.Journal, "shipped") {
			continue // it was forbidden before it came
		}
		customer := j.Fresh.Customer(order.Customer)
		j.checkColumn(whose, "shipments.recipient", s.Recipient, customer.Name)
		j.checkColumn(whose, "shipments.address", s.Address, customer.Address)
	}
}

// forbidden reports whether a reservation was given back before it came.
func forbidden(rows []Line) bool {
	return len(rows) == 1 && rows[0].Product == 0 && rows[0].Quantity == 0 && rows[0].Number == 0
}

// checkSeeded compares the columns that never change with the fresh shop: customers,
// products without their prices, and the keys of stock and accounts. Rule 13.
func (j *judge) checkSeeded() {
	products := map[string][]Product{"products": j.State.Products}
	customers := map[string][]Customer{"customers": j.State.Customers}
	if j.Replica != nil || len(j.State.KnownProducts)+len(j.State.KnownCustomers) > 0 {
		products["known_products"] = j.State.KnownProducts
		customers["known_customers"] = j.State.KnownCustomers
	}
	for _, table := range slices.Sorted(maps.Keys(products)) {
		rows := products[table]
		j.checkIDs(table+".product_id", j.Seed.Products, each(rows, func(p Product) int64 { return p.ID }))
		for _, p := range rows {
			whose := "product " + strconv.FormatInt(p.ID, 10)
			want := j.Fresh.Product(p.ID)
			j.checkColumn(whose, table+".name", p.Name, want.Name)
			j.checkLast(whose, table, p)
			if table == "products" {
				j.checkColumn(whose, table+".search_name", p.SearchName, strings.ToLower(want.Name))
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(customers)) {
		rows := customers[table]
		j.checkIDs(table+".customer_id", j.Seed.Customers, each(rows, func(c Customer) int64 { return c.ID }))
		for _, c := range rows {
			whose := "customer " + strconv.FormatInt(c.ID, 10)
			want := j.Fresh.Customer(c.ID)
			j.checkColumn(whose, table+".name", c.Name, want.Name)
			j.checkColumn(whose, table+".address", c.Address, want.Address)
			if table == "customers" {
				j.checkColumn(whose, table+".email", c.Email, want.Email)
			}
		}
	}
	j.checkIDs("stock.product_id", j.Seed.Products,
		each(j.State.Stock, func(s Stock) int64 { return s.Product }))
	j.checkIDs("accounts.customer_id", j.Seed.Customers,
		each(j.State.Accounts, func(a Account) int64 { return a.Customer }))
}

// checkIDs wants each id from 1 on in a column, once.
func (j *judge) checkIDs(column string, count int64, ids []int64) {
	present := map[int64]bool{}
	for _, id := range ids {
		present[id] = true
	}
	for id := int64(1); id <= count; id++ {
		if !present[id] {
			j.breach(13, "%s: there is no %d", column, id)
		}
	}
	if more := int64(len(ids)) - count; more > 0 {
		j.breach(13, "%s: there are %d more than the %d of the beginning", column, more, count)
	}
}
