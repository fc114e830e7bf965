package lab

// PlatformCost holds the usage of a trial's platform beside its units.
type PlatformCost struct {
	// MadeSeconds is the time from nothing until the platform took units. It is made once, before the first
	// trial on it; 0: it was there, or there is none.
	MadeSeconds float64 `json:"made_seconds,omitempty"`
	// ImagesSeconds is the time to make images and to bring them to the hosts of the units: once, too.
	ImagesSeconds float64 `json:"images_seconds,omitempty"`
	// ReadySeconds is the time until the trial's lead unit was ready, on a platform that was there.
	ReadySeconds float64 `json:"ready_seconds"`
	// Images are those of the unit programs, and those of the user's that units of this trial are containers of
	// and whose sizes are known.
	Images []ProgramImage `json:"images,omitempty"`
	// Starts are those of units of which it is known when they could be used.
	Starts []UnitStart `json:"starts,omitempty"`
	// Used holds the usage of the platform's own processes between the marks of the trial; nil: Unmetered
	// says why, unless there are none.
	Used *Usage `json:"used,omitempty"`
	// Parts divides that, such as by nodes, and Processes by the names of programs.
	Parts     map[string]Usage `json:"parts,omitempty"`
	Processes []ProcessUsage   `json:"processes,omitempty"`
	// Source says where these figures come from, and what is not in them.
	Source    string `json:"source,omitempty"`
	Unmetered string `json:"unmetered,omitempty"`
}

// ProgramImage is the image that has a unit program, or one of the user's.
type ProgramImage struct {
	Program string `json:"program"` // or the name of the user's image
	Bytes   int64  `json:"bytes"`   // not compressed
}

// UnitStart holds the time from the request for a unit until it could be used: until the lead said that it is
// ready, a client of a server could work, any other took commands; as a process, until it ran.
type UnitStart struct {
	Unit    string  `json:"unit"`
	Seconds float64 `json:"seconds"`
}

// PlatformTake holds the usage of a variant's platform at a point: medians over the trials.
type PlatformTake struct {
	Variant    string `json:"variant"`
	Point      Point  `json:"point"`
	Deployment string `json:"deployment"`
	Trials     int    `json:"trials"`
	// MadeSeconds, ImagesSeconds and ReadySeconds are as in PlatformCost; NothingSeconds is
	// their sum: from nothing to ready.
	MadeSeconds    float64 `json:"made_seconds"`
	ImagesSeconds  float64 `json:"images_seconds"`
	ReadySeconds   float64 `json:"ready_seconds"`
	NothingSeconds float64 `json:"nothing_seconds"`
	// BackSeconds is the time from the end of a fault that killed something until that could be used again;
	// 0: nothing was killed.
	BackSeconds float64 `json:"back_seconds,omitempty"`
	// NoticedSeconds is the time until the platform reported the loss of a node; 0: none was lost, or not for
	// so long.
	NoticedSeconds float64 `json:"noticed_seconds,omitempty"`
	// Starts are those of the units, the slowest first.
	Starts []UnitStart    `json:"starts,omitempty"`
	Images []ProgramImage `json:"images,omitempty"`
	// CPUShare is of one core, over the load; 0, as memory is: not metered.
	CPUShare        float64 `json:"cpu_share"`
	CPUPerOperation float64 `json:"cpu_per_operation"` // seconds
	MeanMemory      float64 `json:"mean_memory"`       // bytes
	PeakMemory      float64 `json:"peak_memory"`       // bytes
	// Processes are the platform's programs, the dearest first; their CPU share of one core.
	Processes []PlatformProgram `json:"processes,omitempty"`
	Source    string            `json:"source,omitempty"`
	Unmetered string            `json:"unmetered,omitempty"`
}

// PlatformProgram holds the usage of all processes of one program of a platform.
type PlatformProgram struct {
	Name       string  `json:"name"`
	Processes  float64 `json:"processes"`
	CPUShare   float64 `json:"cpu_share"`   // of one core
	PeakMemory float64 `json:"peak_memory"` // bytes
}
