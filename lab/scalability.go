package lab

// ScalingFit is the throughput of a variant along one of ScalingFactors, with
// the Universal Scalability Law fitted to it: X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)).
type ScalingFit struct {
	Metric  string `json:"metric"`
	Unit    string `json:"unit"`
	Variant string `json:"variant"`
	// Factor is UNIT.replicas where variants differ in the number of replicas of a unit: then Variants has one
	// per level, Variant is the first of them, and all Points are the same.
	Factor   string    `json:"factor"`
	Variants []string  `json:"variants,omitempty"`
	Points   []string  `json:"points"`
	X        []float64 `json:"x"`      // levels, one per point, rising
	Y        []float64 `json:"y"`      // means over the blocks that have all points, one per point
	Blocks   int       `json:"blocks"` // that have all points; 0: Y is over all trials
	// Refused is the reason why the law is not fitted; all fields below except Words are absent then.
	Refused string `json:"refused,omitempty"`
	// Lambda is the throughput of one user, core or replica, Sigma the contention and Kappa the coherency.
	Lambda *Estimate `json:"lambda,omitempty"`
	Sigma  *Estimate `json:"sigma,omitempty"`
	Kappa  *Estimate `json:"kappa,omitempty"`
	// Peak is the level with the highest throughput; absent if it is beyond Curve. Its High is null if that may
	// be beyond Curve.
	Peak *Estimate `json:"peak,omitempty"`
	// Worst is the largest relative deviation of a mean from the law.
	Worst float64 `json:"worst,omitempty"`
	// Curve holds the fitted throughputs, at levels up to twice the largest measured one.
	Curve []ScalingPoint `json:"curve,omitempty"`
	Words string         `json:"words"`
}

// From returns the names of the first and the last point, or of the first and the last variant, to tell fits
// of the same factor apart.
func (f ScalingFit) From() string {
	if len(f.Points) == 0 {
		return ""
	}
	if n := len(f.Variants); n > 0 {
		return f.Variants[0] + " to " + f.Variants[n-1] + " at " + f.Points[0]
	}
	return f.Points[0] + " to " + f.Points[len(f.Points)-1]
}

// ScalingPoint is the fitted throughput at a level.
type ScalingPoint struct {
	Level float64 `json:"level"`
	Estimate
	Beyond bool `json:"beyond,omitempty"` // beyond the largest level that was measured
}

// ScalingFactors lists the factors whose levels are numbers of parallel users, cores or replicas.
func ScalingFactors() []string { return []string{FactorUsers, FactorCores, FactorReplicas} }
