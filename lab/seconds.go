package lab

// LoadSecond summarizes the answers of one second of a load.
type LoadSecond struct {
	Slice
	Failed int64 `json:"failed"` // operations without a right answer
}

// UsedSecond holds the processors that units used in about a second.
type UsedSecond struct {
	End float64 `json:"end"` // seconds since the first mark
	// Cores holds the numbers of processors that were used, by unit, or by role if there are many units.
	Cores map[string]float64 `json:"cores"`
}

// SecondsWatcher receives the figures of every second of a trial while it is played. Its methods may be
// called from several goroutines, and do not wait.
type SecondsWatcher interface {
	// Trial announces an attempt at a trial.
	Trial(number, attempt int)
	Loaded(LoadSecond)
	Used(UsedSecond)
}

// FollowedMetering is a Metering that reports the usage of units already while it runs.
type FollowedMetering interface {
	// Follow makes the Metering call used about once a second between the marks. That function must not wait.
	Follow(used func(UsedSecond)) error
}
