package lab

// Use connects a unit of a layout with another unit, or a backing service, that it needs.
type Use struct {
	To  string // the name of a unit or of a service of the layout
	How string // the protocol, in a word: "http"; empty if the service's kind implies it
}

// Part is a box in the picture of a trial's architecture: all units of a role, or a
// backing service.
type Part struct {
	Name  string `json:"name"`  // the role, or what the system calls the service
	Units int    `json:"units"` // their number; 0 for an Embedded service
	// Service is the kind of a backing service: "mariadb". An embedded one runs inside of the
	// units that use it, and has no units of its own.
	Service  string `json:"service,omitempty"`
	Embedded bool   `json:"embedded,omitempty"`
	// Node is the node of its units; empty: the conductor's host.
	Node  string `json:"node,omitempty"`
	Links []Link `json:"links,omitempty"`
}

// Link is an arrow in the picture of a trial's architecture: the units of a part use another part.
type Link struct {
	To  string `json:"to"`            // the name of the other part
	How string `json:"how,omitempty"` // the protocol, as in Use: "http"; absent if the other part implies it
	// Traffic holds numbers per operation, by what is counted: "calls", "statements", "messages out". It is
	// absent if nothing is counted.
	Traffic map[string]float64 `json:"traffic,omitempty"`
}

// Traffic counts what the units of a role sent to another part, per operation.
type Traffic struct {
	From, To     string
	What         string // "calls", "statements", "messages out"
	PerOperation float64
}

// Picture is the architecture of a variant, with the usage of its parts at a point.
type Picture struct {
	Variant string        `json:"variant"`
	Point   Point         `json:"point"`
	Parts   []PicturePart `json:"parts"`
}

// PicturePart is a part with the usage of all its units at the point of the picture. The usage comes from
// medians over the trials, and is 0 if the units were not metered.
type PicturePart struct {
	Part
	CPUPerOperation float64 `json:"cpu_per_operation"` // seconds
	// CPUShare is the part's share of the CPU time of all parts except the generator. It is 0 for the generator.
	CPUShare   float64 `json:"cpu_share"`
	PeakMemory float64 `json:"peak_memory"` // bytes
}
