package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
)

// Inbox lists the messages of one component.
type Inbox struct {
	// Takes are the types of events that it takes.
	Takes []string
	// Had are the ids of its messages: <order>/<type>, product-<id>/<type>/<version>.
	Had map[string]bool
}

// ReadInbox reads the inbox of a consumer.
func ReadInbox(ctx context.Context, db *database.DB, consumer string, takes []string) (Inbox, error) {
	inbox := Inbox{Takes: takes, Had: map[string]bool{}}
	err := db.Each(ctx, func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		inbox.Had[id] = true
		return err
	}, "SELECT id FROM inbox WHERE consumer = ?", consumer)
	if err != nil {
		return inbox, fmt.Errorf("audit the inbox of %s: %w", consumer, err)
	}
	return inbox, nil
}

// The events of a choreographed order, in their order, and the event of a price.
const (
	repriced = "product.repriced"

	placed, reserved, captured, shipped  = "order.placed", "stock.reserved", "payment.captured", "order.shipped"
	confirmed, cancelled                 = "order.confirmed", "order.cancelled"
	refusedStock, refusedMoney, rejected = "stock.refused", "payment.declined", "order.rejected"
)

// The commands of a saga over the broker, in their order, and the replies that are not among the events
// above.
const (
	reserve, capture, commit, committed, ship = "reserve.stock", "capture.payment", "commit.stock",
		"stock.committed", "ship.order"
	release, released                                    = "release.stock", "stock.released"
	recall, recalled, giveBack, returned, refund, repaid = "recall.order", "order.recalled", "return.stock",
		"stock.returned", "refund.payment", "payment.refunded"
)

// course lists the messages about an order, by its final state.
type course struct {
	begun                []string // of every order that is not rejected at once
	confirmed, cancelled []string // a cancelled order has both
	byStock, byMoney     []string // rejected by the inventory, by the payments
}

// course returns the messages of a coordination.
func (c Coordination) course() course {
	if c == Brokered {
		return course{
			begun: []string{reserve},
			confirmed: []string{reserve, reserved, capture, captured, commit, committed, ship, shipped,
				confirmed},
			cancelled: []string{cancelled, recall, recalled, giveBack, returned, refund, repaid},
			byStock:   []string{reserve, refusedStock, rejected},
			byMoney:   []string{reserve, reserved, capture, refusedMoney, release, released, rejected},
		}
	}
	return course{
		begun:     []string{placed},
		confirmed: []string{placed, reserved, captured, shipped, confirmed}, cancelled: []string{cancelled},
		byStock: []string{placed, refusedStock, rejected},
		byMoney: []string{placed, reserved, refusedMoney, rejected},
	}
}

// caused returns the messages that an order on record must have caused, and others that
// it may have caused.
func (j *judge) caused(order *Order) (must, may []string) {
	messages := j.Coordination.course()
	switch order.State {
	case shop.StateConfirmed:
		return messages.confirmed, nil
	case shop.StateCancelled:
		return slices.Concat(messages.confirmed, messages.cancelled), nil
	case shop.StateRejected:
		return j.refused(order, messages), nil
	}
	return append(messages.begun, j.provoked(order.ID)...),
		slices.Concat(messages.confirmed, messages.cancelled, messages.byStock, messages.byMoney)
}

// provoked returns the messages that the steps of a stuck order must have caused. The first word in the
// journal of a step's row proves that the component has published one.
func (j *judge) provoked(order string) (must []string) {
	for _, r := range j.State.stepsOf(order) {
		entries, err := readJournal(r.journal)
		if err != nil || len(entries) == 0 {
			continue // checkCourses notes it
		}
		if event := stepKinds[r.what].causes[entries[0].word]; event != "" {
			must = append(must, event)
		}
	}
	return must
}

// refused returns the messages of an order that was rejected by the inventory, by the
// payments, or at once, which causes messages to read models only.
func (j *judge) refused(order *Order, messages course) []string {
	byStock := j.delivered(order.ID, refusedStock)
	byMoney := j.delivered(order.ID, refusedMoney)
	switch {
	case byStock && !byMoney:
		return messages.byStock
	case byMoney && !byStock:
		return messages.byMoney
	}
	return []string{rejected}
}

// delivered reports whether any component got an event about an order.
func (j *judge) delivered(order, kind string) bool {
	for _, inbox := range j.Inboxes {
		if inbox.Had[order+"/"+kind] {
			return true
		}
	}
	return false
}

// checkMessages compares the inboxes with the orders on record: rule 10. A change without
// its message is a zombie, a message without its change a ghost.
func (j *judge) checkMessages() {
	if !j.Drained {
		return
	}
	for _, consumer := range slices.Sorted(maps.Keys(j.Inboxes)) {
		inbox := j.Inboxes[consumer]
		j.counts["messages_taken_in"] += int64(len(inbox.Had))
		for _, id := range slices.Sorted(maps.Keys(j.State.Orders)) {
			j.checkInbox(consumer, inbox, j.State.Orders[id])
		}
		j.checkPriceMessages(consumer, inbox)
		for _, id := range slices.Sorted(maps.Keys(inbox.Had)) {
			j.checkGhost(consumer, id)
		}
	}
}

func (j *judge) checkInbox(consumer string, inbox Inbox, order *Order) {
	must, may := j.caused(order)
	for _, kind := range inbox.Takes {
		had := inbox.Had[order.ID+"/"+kind]
		isDue := slices.Contains(must, kind)
		isRight := isDue || slices.Contains(may, kind)
		switch {
		case isDue && !had:
			j.counts["zombies"]++
			j.breach(10, "order %s is %s, and %s was never told %s", order.ID, order.State, consumer, kind)
		case had && !isRight:
			j.counts["ghosts"]++
			j.breach(10, "order %s is %s, and %s was told %s", order.ID, order.State, consumer, kind)
		}
	}
}

// checkGhost finds messages about orders that are not on record.
func (j *judge) checkGhost(consumer, id string) {
	order, kind, about := strings.Cut(id, "/")
	if strings.HasPrefix(kind, repriced) {
		return // see checkPriceMessages
	}
	if !about || j.State.Orders[order] == nil {
		j.counts["ghosts"]++
		j.breach(10, "%s was told %q, and no such order is on record", consumer, id)
	}
}
