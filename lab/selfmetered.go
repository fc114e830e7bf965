package lab

// UsageAnswer is the text of an EventUsage: the usage of a unit's process since its start, as the unit itself
// has counted it.
type UsageAnswer struct {
	Host              UnitHost `json:"host"`
	CPUNanoseconds    int64    `json:"cpu_nanoseconds"`
	UserNanoseconds   int64    `json:"user_nanoseconds"`
	SystemNanoseconds int64    `json:"system_nanoseconds"`
	Voluntary         int64    `json:"voluntary"`   // context switches, of ended threads too
	Involuntary       int64    `json:"involuntary"` // likewise
	Threads           int64    `json:"threads"`     // now
	// MemoryBytes is the proportional set size now, LargestBytes the largest resident set
	// until now.
	MemoryBytes  int64 `json:"memory_bytes"`
	LargestBytes int64 `json:"largest_bytes"`
	ReadBytes    int64 `json:"read_bytes"`
	WrittenBytes int64 `json:"written_bytes"`
}
