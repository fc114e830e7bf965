package big

import "github.com/cleave-lab/cleave/lab"

var _ lab.Checkable = System{}

// checkJob returns the job of a check with a number of pings per worker. It has two neighbourhoods, so that
// messages that leave one are noticed, of five workers.
func checkJob(pings int) Job { return Job{Neighbourhoods: 2, Workers: 5, Pings: pings} }

// CheckPoint implements lab.Checkable: the workers share the operations, rounded up. Big has no load that
// could be spread over time.
func (System) CheckPoint(operations int, _ float64) lab.Point {
	workers := checkJob(0).Total()
	return checkJob((operations + workers - 1) / workers).Point("job")
}

// CheckTable implements lab.Checkable.
func (System) CheckTable() lab.CheckTable {
	return lab.CheckTable{Most: int(checkJob(maxPings).RoundTrips()), Columns: []lab.CheckColumn{
		{Title: "workers", Count: "workers"}, {Title: "pings sent", Count: "sent"},
		{Title: "answered", Count: "answered"}, {Title: "pongs received", Count: "received"},
	}}
}
