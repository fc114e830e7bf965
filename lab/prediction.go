package lab

// PredictionSchema is the version of the document of `cleave predict --json`.
const PredictionSchema = "cleave-prediction/1"

// Prediction is the document of `cleave predict MODEL --json`: the predicted figures of another placement of
// a model's components, or a ranking of placements.
type Prediction struct {
	Schema string  `json:"schema"`
	Model  string  `json:"model"`            // its name
	Change string  `json:"change,omitempty"` // in words; if all partitions are ranked, only that of stores
	Rate   float64 `json:"rate"`             // operations per second
	Cores  float64 `json:"cores"`            // of the host on which all units run
	Seed   uint64  `json:"seed"`
	// Objective is the condition of held_rate.
	Objective string `json:"objective,omitempty"`
	// Withheld says why there is no answer; empty: there is one.
	Withheld []string          `json:"withheld"`
	Checks   []PredictionCheck `json:"checks"`
	Limits   []string          `json:"limits"` // of the method
	AsIs     *PredictedSystem  `json:"as_is,omitempty"`
	Changed  *PredictedSystem  `json:"changed,omitempty"`
	// MedianRatio, P99Ratio and CPURatio are figures of the changed system divided by those of the system as it
	// is.
	MedianRatio *Estimate `json:"median_ratio,omitempty"`
	P99Ratio    *Estimate `json:"p99_ratio,omitempty"`
	CPURatio    *Estimate `json:"cpu_ratio,omitempty"`
	// CapacityCheck is the simulated capacity of the system as it is, in operations per second, beside the
	// measured one; left out where none was measured. Their ratio corrects the capacities of AsIs and Changed.
	CapacityCheck *PredictedMeasure `json:"capacity_check,omitempty"`
	// StoreFactor multiplies the times at stores, so that the simulation has the measured capacity. It is 1 if
	// stores do not explain that capacity, and left out where none was measured.
	StoreFactor float64 `json:"store_factor,omitempty"`
	// CapacityChecks are the capacities that were measured in other placements, beside the predicted ones, which
	// are corrected, too. If one is more than 15 % off, the capacities are withheld.
	CapacityChecks []PredictedCapacity `json:"capacity_checks,omitempty"`
	// Causes divide the mean response time, CPUCauses the CPU time of an operation.
	Causes    []PredictedCause `json:"causes,omitempty"`
	CPUCauses []PredictedCause `json:"cpu_causes,omitempty"`
	// AllPartitions is the number of partitions that were ranked. Partitions has only the cheapest ones with
	// each number of units, and the system as it is.
	AllPartitions int                  `json:"all_partitions,omitempty"`
	Partitions    []PredictedPartition `json:"partitions,omitempty"`
}

// PredictedSystem holds the figures of a system in one placement. Times are in seconds.
type PredictedSystem struct {
	Median      Estimate  `json:"median_seconds"`
	P99         *Estimate `json:"p99_seconds"` // null: withheld
	CPU         Estimate  `json:"cpu_seconds"` // per operation
	Cores       Estimate  `json:"cores"`       // used
	Busiest     string    `json:"busiest"`     // the most used resource
	Utilization float64   `json:"utilization"` // of Busiest
	Capacity    *Estimate `json:"capacity"`    // operations per second; null: withheld
	CapacityBy  string    `json:"capacity_by"` // the resource that limits it; empty: withheld
	// HeldRate is the highest rate at which the objective holds. It is left out if there is none, or if it is
	// withheld. HeldBeyond is set if it is the highest rate that was simulated.
	HeldRate   *Estimate       `json:"held_rate,omitempty"`
	HeldBeyond bool            `json:"held_beyond,omitempty"`
	Hops       float64         `json:"calls_between_units"` // per operation
	Units      []PredictedUnit `json:"units"`
}

// PredictedUnit holds the number of cores that a unit uses.
type PredictedUnit struct {
	Unit  string  `json:"unit"`
	Cores float64 `json:"cores"`
}

// PredictedCause is a part of a time per operation, in seconds, and its change.
type PredictedCause struct {
	What   string  `json:"what"`
	AsIs   float64 `json:"as_is"`
	Change float64 `json:"change"`
}

// PredictedPartition is one way to divide the components of a model into units.
type PredictedPartition struct {
	Units    [][]string `json:"units"` // the components of each unit
	AsIs     bool       `json:"as_is,omitempty"`
	CPU      Estimate   `json:"cpu_seconds"` // per operation
	CPURatio Estimate   `json:"cpu_ratio"`   // to the system as it is
	Hops     float64    `json:"calls_between_units"`
	Median   *Estimate  `json:"median_seconds"` // null: withheld, because a utilization is too high
	Busiest  string     `json:"busiest,omitempty"`
	// Utilization is that of Busiest.
	Utilization float64 `json:"utilization"`
	// Added lists the calls that cross units here but not in the previous partition of the list. Removed lists
	// those that do so only in the previous one.
	Added   []PredictedCrossing `json:"added,omitempty"`
	Removed []PredictedCrossing `json:"removed,omitempty"`
}

// PredictedCrossing is the cost of the calls from one component to another in another unit.
type PredictedCrossing struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Calls float64 `json:"calls"`       // per operation
	CPU   float64 `json:"cpu_seconds"` // per operation
}

// PredictionCheck compares a prediction with a measurement of the same. Times are in seconds.
type PredictionCheck struct {
	Placement   string  `json:"placement,omitempty"` // empty: as it is
	Rate        float64 `json:"rate"`
	Utilization float64 `json:"utilization"`
	// Decisive is set if the answer is withheld when the check fails. Of each placement it is the check at the
	// asked rate or, if it was not measured there, those at the next rates below and above. A check at a farther
	// rate is decisive, too, unless one nearer check compares all that it does.
	Decisive bool             `json:"bears"`
	OfMean   bool             `json:"of_mean"` // the time is the mean; else the median
	Time     PredictedMeasure `json:"time_seconds"`
	// P45 and P55 are measured percentiles. A median between them counts as right, however far off it is. They
	// are left out if they were not measured.
	P45 *float64         `json:"p45_seconds,omitempty"`
	P55 *float64         `json:"p55_seconds,omitempty"`
	P99 PredictedMeasure `json:"p99_seconds"`
	CPU PredictedMeasure `json:"cpu_seconds"` // per operation
}

// PredictedCapacity compares a predicted capacity with a measured one, in operations per second.
type PredictedCapacity struct {
	Placement string           `json:"placement"`
	Users     int              `json:"users"` // who never paused
	Capacity  PredictedMeasure `json:"capacity"`
}

// PredictedMeasure is a predicted value with the measured one.
type PredictedMeasure struct {
	Predicted *float64 `json:"predicted"` // null: the system is predicted to be overloaded
	Measured  *float64 `json:"measured"`  // null: nothing was measured
}
