package system

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// CheckPoint implements lab.Checkable. It is a shop in which everything happens: what
// is popular sells out, some customers cannot pay, some think again, prices change, and all look
// at what they have ordered. Of few orders most
// are confirmed, too: a shelf holds the largest line, and an account more than most
// orders cost.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	orders := float64(operations)
	p := s.base().CheckPoint(operations, over)
	p.Levels[Cancelled], p.Levels[Repriced], p.Levels[Reads] = 5, 5, 1
	p.Levels[Stock], p.Levels[Balance] =
		max(3, math.Ceil(orders/30)), max(50_000, orders*100)
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
