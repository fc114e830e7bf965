package big

import "github.com/cleave-lab/cleave/lab"

var _ lab.Checkable = System{}

// The workers of a check.
const (
	checkNeighbourhoods = 2
	checkWorkers        = 5
)

// CheckPoint implements lab.Checkable: two neighbourhoods, so that what leaves one is
// seen, of five workers share the operations. Big has no load that could be spread over
// a time.
func (System) CheckPoint(operations int, _ float64) lab.Point {
	each := (operations + checkNeighbourhoods*checkWorkers - 1) / (checkNeighbourhoods * checkWorkers)
	return lab.Point{Name: "job", Levels: map[string]float64{
		"neighbourhoods": checkNeighbourhoods, "workers": checkWorkers, "pings": float64(each),
	}}
}

// CheckTable implements lab.Checkable.
func (System) CheckTable() lab.CheckTable {
	return lab.CheckTable{Most: checkNeighbourhoods * checkWorkers * maxPings, Columns: []lab.CheckColumn{
		{Title: "workers", Count: "workers"}, {Title: "pings sent", Count: "sent"},
		{Title: "answered", Count: "answered"}, {Title: "pongs received", Count: "received"},
	}}
}
