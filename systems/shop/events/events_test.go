package events

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// TestEveryTypeIsThatOfItsMessage encodes and decodes an event of every type that goes through a queue.
func TestEveryTypeIsThatOfItsMessage(t *testing.T) {
	order := &shoppb.Order{OrderId: "o-1", Lines: []*shoppb.OrderLine{{ProductId: 1}}}
	samples := map[string]Event{
		OrderPlaced:     &shoppb.OrderPlaced{Order: order},
		StockReserved:   &shoppb.StockReserved{Order: order},
		StockRefused:    &shoppb.StockRefused{Order: order},
		PaymentCaptured: &shoppb.PaymentCaptured{Order: order},
		PaymentDeclined: &shoppb.PaymentDeclined{Order: order},
		OrderShipped:    &shoppb.OrderShipped{Order: order},
		OrderConfirmed:  &shoppb.OrderConfirmed{Order: order},
		OrderRejected:   &shoppb.OrderRejected{Order: order},
		OrderCancelled:  &shoppb.OrderCancelled{Order: order},
		ReserveStock:    &shoppb.ReserveStock{Order: order},
		CapturePayment:  &shoppb.CapturePayment{Order: order},
		CommitStock:     &shoppb.CommitStock{Order: order},
		StockCommitted:  &shoppb.StockCommitted{Order: order},
		ShipOrder:       &shoppb.ShipOrder{Order: order},
		ReleaseStock:    &shoppb.ReleaseStock{Order: order},
		StockReleased:   &shoppb.StockReleased{Order: order},
		RecallOrder:     &shoppb.RecallOrder{Order: order},
		OrderRecalled:   &shoppb.OrderRecalled{Order: order},
		ReturnStock:     &shoppb.ReturnStock{Order: order},
		StockReturned:   &shoppb.StockReturned{Order: order},
		RefundPayment:   &shoppb.RefundPayment{Order: order},
		PaymentRefunded: &shoppb.PaymentRefunded{Order: order},
		StockChanged:    &shoppb.StockChanged{Stock: &shoppb.Stock{ProductId: 7}, Version: 2},
		ProductRepriced: &shoppb.ProductRepriced{Price: &shoppb.Price{ProductId: 7, Version: 2}},
	}
	if got, want := slices.Sorted(maps.Keys(samples)), queuedTypes(); !slices.Equal(got, want) {
		t.Errorf("there are events of %v, want one of each type in a queue: %v", got, want)
	}
	for kind, e := range samples {
		m, err := Encode(e, time.UnixMicro(5))
		if err != nil || m.Type != kind {
			t.Errorf("%T has the type %q, %v, want %q", e, m.Type, err, kind)
		}
		if again, err := Decode(m); err != nil || again.GetHappening().GetOccurredUnixUs() != 5 ||
			again.GetHappening().GetEventId() != m.ID {
			t.Errorf("%s was read as %v, %v", kind, again, err)
		}
	}
}

// queuedTypes returns the types of events in the queues of all topologies, sorted.
func queuedTypes() []string {
	var types []string
	for _, purposes := range []Purposes{{Saga: true}, {Commands: true}, {Views: true}, {Reference: true}} {
		for _, queue := range Topology(purposes).Queues {
			types = append(types, queue.Types...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

func TestUnknownTypesMakeNoEvent(t *testing.T) {
	for _, kind := range []string{"", ".", "order", "order.", ".placed", "order.eaten", "Order.placed",
		"order.Placed", "orderplaced.", "order.lin e", "order.line", "happening."} {
		if e := empty(kind); e != nil {
			t.Errorf("%q makes %T", kind, e)
		}
	}
}
