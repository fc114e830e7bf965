package audit

import (
	"maps"
	"slices"
)

// checkMoney adds up each account and all of them: rule 5. What was on it in the
// beginning is on it now, or captured and not refunded.
func (j *judge) checkMoney() {
	captured := map[int64]int64{}
	for _, rows := range j.State.Payments {
		for _, row := range rows {
			if row.State == "captured" {
				captured[row.Customer] += row.AmountCents
			}
		}
	}
	if n := int64(len(j.State.Accounts)); n != j.Seed.Customers {
		j.breach(5, "there are %d accounts of %d", n, j.Seed.Customers)
	}
	for _, a := range j.State.Accounts {
		j.counts["captured_cents"] += captured[a.Customer]
		if a.BalanceCents+captured[a.Customer] != j.Seed.Balance || a.BalanceCents < 0 {
			j.breach(5, "account %d: %d balance + %d captured are not the %d cents of the beginning", a.Customer,
				a.BalanceCents, captured[a.Customer], j.Seed.Balance)
		}
		delete(captured, a.Customer)
	}
	for _, customer := range slices.Sorted(maps.Keys(captured)) {
		j.breach(5, "%d cents were captured from customer %d, who has no account", captured[customer], customer)
	}
}

// checkStock adds up each product: rule 6.
func (j *judge) checkStock() {
	reserved := map[int64]int64{}
	sold := map[int64]int64{}
	for _, rows := range j.State.Reservations {
		for _, row := range rows {
			switch row.State {
			case "reserved":
				reserved[row.Product] += row.Quantity
			case "committed":
				sold[row.Product] += row.Quantity
			}
		}
	}
	if n := int64(len(j.State.Stock)); n != j.Seed.Products {
		j.breach(6, "there are %d products of %d in stock", n, j.Seed.Products)
	}
	for _, s := range j.State.Stock {
		j.counts["sold_units"] += s.Sold
		if s.OnHand+s.Reserved+s.Sold != j.Seed.Stock || min(s.OnHand, s.Reserved, s.Sold) < 0 {
			j.breach(6, "product %d: %d on hand + %d reserved + %d sold are not the %d of the beginning",
				s.Product, s.OnHand, s.Reserved, s.Sold, j.Seed.Stock)
		}
		if s.Reserved != reserved[s.Product] || s.Sold != sold[s.Product] {
			j.breach(6, "product %d: %d reserved and %d sold, but the orders have reserved %d and bought %d",
				s.Product, s.Reserved, s.Sold, reserved[s.Product], sold[s.Product])
		}
		if s.Reserved != 0 {
			j.stuck("product %d has %d reserved", s.Product, s.Reserved)
		}
	}
}
