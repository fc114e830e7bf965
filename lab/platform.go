package lab

// PlatformCost holds the cost of a trial's platform, without its units.
type PlatformCost struct {
	// MadeSeconds is the time to create the platform, once before its first trial, until it accepts units; 0: it
	// existed already, or there is none.
	MadeSeconds float64 `json:"made_seconds,omitempty"`
	// ImagesSeconds is the time to build images and to copy them to the hosts of the units, also once.
	ImagesSeconds float64 `json:"images_seconds,omitempty"`
	// ReadySeconds is the time until the trial's lead unit was ready, on an existing platform.
	ReadySeconds float64 `json:"ready_seconds"`
	// Images lists the images of unit programs, and those of the user in this trial whose sizes are known.
	Images []ProgramImage `json:"images,omitempty"`
	// Starts lists the start times of units, if known.
	Starts []UnitStart `json:"starts,omitempty"`
	// Used holds the usage of the platform's own processes between the marks of the trial; nil: there are
	// none, or they were not metered.
	Used *Usage `json:"used,omitempty"`
	// Parts divides Used, for example by nodes, and Processes by the names of programs.
	Parts     map[string]Usage `json:"parts,omitempty"`
	Processes []ProcessUsage   `json:"processes,omitempty"`
	// Source describes the source of these figures, and what they do not include.
	Source string `json:"source,omitempty"`
	// Unmetered says why the platform's own processes were not metered; absent: they were, or there are none.
	Unmetered string `json:"unmetered,omitempty"`
}

// ProgramImage is the image of a unit program, or an image of the user.
type ProgramImage struct {
	Program string `json:"program"` // or the name of the user's image
	Bytes   int64  `json:"bytes"`   // uncompressed size
}

// UnitStart holds the time from the request for a unit until it was usable: for the lead until it reported
// that it is ready, for a server until a client could use it, and for another unit until its program had
// opened its control connection.
type UnitStart struct {
	Unit    string  `json:"unit"`
	Seconds float64 `json:"seconds"`
}

// PlatformTake holds the usage of a variant's platform at a point: medians over the trials.
type PlatformTake struct {
	Variant    string `json:"variant"`
	Point      Point  `json:"point"`
	Deployment string `json:"deployment"`
	Trials     int    `json:"trials"` // whose medians these are
	// MadeSeconds is the time to create the platform; 0: it existed already, or there is none.
	MadeSeconds    float64 `json:"made_seconds"`
	ImagesSeconds  float64 `json:"images_seconds"`  // to build images and to copy them to the hosts
	ReadySeconds   float64 `json:"ready_seconds"`   // until the lead unit was ready, on an existing platform
	NothingSeconds float64 `json:"nothing_seconds"` // the sum of these three: from nothing to ready
	// BackSeconds is the time from the end of a killing fault until its target was usable again; 0: nothing was
	// killed.
	BackSeconds float64 `json:"back_seconds,omitempty"`
	// NoticedSeconds is the time until the platform reported the loss of a node; 0: no node was lost, or it came
	// back earlier.
	NoticedSeconds float64 `json:"noticed_seconds,omitempty"`
	// Starts lists the start times of the units, the slowest first.
	Starts []UnitStart    `json:"starts,omitempty"`
	Images []ProgramImage `json:"images,omitempty"`
	// CPUShare is the share of one core during the load; if it and the memory are 0, they were not metered.
	CPUShare        float64 `json:"cpu_share"`
	CPUPerOperation float64 `json:"cpu_per_operation"` // seconds
	MeanMemory      float64 `json:"mean_memory"`       // bytes
	PeakMemory      float64 `json:"peak_memory"`       // bytes
	// Processes lists the platform's programs, the one with the most CPU first.
	Processes []PlatformProgram `json:"processes,omitempty"`
	Source    string            `json:"source,omitempty"`    // of the usage, and what that does not include
	Unmetered string            `json:"unmetered,omitempty"` // why there is no usage; absent: there is
}

// PlatformProgram holds the usage of all processes of one program of a platform.
type PlatformProgram struct {
	Name       string  `json:"name"`
	Processes  float64 `json:"processes"`
	CPUShare   float64 `json:"cpu_share"`   // of one core
	PeakMemory float64 `json:"peak_memory"` // bytes
}
