package system

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
)

// CheckPoint implements lab.Checkable. It is a shop in which everything happens: what
// is popular sells out, some customers cannot pay, some think again. Of few orders most
// are confirmed, too: a shelf holds the largest line, and an account more than most
// orders cost.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	orders := float64(operations)
	p := lab.Point{Name: "orders", Levels: map[string]float64{
		Orders: orders, Cancelled: 5,
		Stock: max(3, math.Ceil(orders/30)), Balance: max(50_000, orders*100),
	}}
	if over > 0 {
		p.Levels[Over] = math.Ceil(over)
	}
	return p
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return lab.CheckTable{
		Most: MaxOrders,
		Columns: []lab.CheckColumn{
			{Title: "orders", Count: "orders"}, {Title: "confirmed", Count: "confirmed"},
			{Title: "rejected", Count: "rejected"},
			{Title: "lost", Count: "lost"}, {Title: "doubled", Count: "duplicated"}, {Title: "stuck", Count: "stuck"},
			{Title: "orders/s", Metric: "completed_rate"},
		},
		Faults: []lab.CheckColumn{
			{Title: "orders refused", Count: "fail"}, {Title: "of unknown outcome", Count: "info"},
			{Title: "found done", Count: "recovered"},
		},
	}
}
