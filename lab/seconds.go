package lab

// LoadSecond sums up the answers of one second of a load.
type LoadSecond struct {
	Slice
	Failed int64 `json:"failed"` // operations that were not answered rightly
}

// UsedSecond holds the processors that units used in about a second.
type UsedSecond struct {
	End float64 `json:"end"` // seconds since the first mark
	// Cores are the processors that were used, by unit; by role where there are many units.
	Cores map[string]float64 `json:"cores"`
}

// SecondsWatcher is told second by second how a trial goes while it is played. Its methods may be called from
// several goroutines, and do not wait.
type SecondsWatcher interface {
	// Trial begins an attempt at a trial.
	Trial(number, attempt int)
	Loaded(LoadSecond)
	Used(UsedSecond)
}

// FollowedMetering is a Metering that tells what units use while it goes on.
type FollowedMetering interface {
	// Follow has a function called about once a second between the marks. The function must not wait.
	Follow(tell func(UsedSecond)) error
}
