package system

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// CheckPoint implements lab.Checkable. Everything happens in its shop: popular products
// sell out, some customers cannot pay, some cancel, prices change, and all read the pages of
// their orders. Most orders are confirmed even if there are few: a shelf holds the largest
// line, and an account covers most orders.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	orders := float64(operations)
	p := s.base().CheckPoint(operations, over)
	p.Levels[Cancelled] = 5
	p.Levels[Repriced] = 5
	p.Levels[Reads] = 1
	p.Levels[Stock] = max(3, math.Ceil(orders/30))
	p.Levels[Balance] = max(50_000, orders*100)
	return p
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "orders", Count: "orders"}, {Title: "confirmed", Count: "confirmed"},
		{Title: "rejected", Count: "rejected"}, {Title: "lost", Count: "lost"},
		{Title: "doubled", Count: "duplicated"}, {Title: "stuck", Count: "stuck"},
		{Title: "orders/s", Metric: "completed_rate"}},
		lab.CheckColumn{Title: "orders refused", Count: "fail"},
		lab.CheckColumn{Title: "of unknown outcome", Count: "info"},
		lab.CheckColumn{Title: "found done", Count: "recovered"})
}
