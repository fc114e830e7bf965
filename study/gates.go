package study

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// ungatedLateness is the limit, in seconds, of the lateness of 99 % of the operations in a trial without
// gates, unless its study permits more.
const ungatedLateness = 0.1

// withoutGates lets trials count whatever else the host does, and adds a note about it to the study.
func withoutGates(s *lab.Study) {
	s.Design.Gates = lab.Gates{MaxStealShare: 1, MaxCalibrationDrift: 1e9}
	note := "Trials counted whatever else the host did"
	if s.Load != nil {
		load := *s.Load
		load.Lateness = max(load.Lateness, ungatedLateness)
		s.Load = &load
		note += fmt.Sprintf(", if the generator sent 99 %% of the operations less than %.0f ms late: that "+
			"affects 99th percentiles, but hardly medians and costs", 1000*load.Lateness)
	}
	s.Notes = append(s.Notes[:len(s.Notes):len(s.Notes)], note+".")
}
