package lab

// StaticCost holds the cost of a trial's layout even without load. It is no score. Unknown values are absent.
type StaticCost struct {
	// Units counts the units that run when the load begins and the servers of backing services, without the
	// generator; Processes counts their processes.
	Units     int  `json:"units"`
	Processes *int `json:"processes,omitempty"`
	// Tables counts the tables, or collections of documents, that the system creates, and Queues its queues.
	Tables *int `json:"tables,omitempty"`
	Queues *int `json:"queues,omitempty"`
	// ConfigurationLines counts the arguments, variables and lines of files that configure units and servers,
	// once for all units of a role. For a compose file or manifests it counts the lines of these files. Blank
	// lines and comments do not count.
	ConfigurationLines *int `json:"configuration_lines,omitempty"`
	// Images lists the images of the unit programs, and the user's images that units run.
	Images []ProgramImage `json:"images,omitempty"`
	// Code holds the lines of code of the packages of the variant, by package.
	Code map[string]int `json:"code,omitempty"`
	// Unknown says why values are absent, by the name of the field in JSON.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// VariantStatics is the static cost of a variant at a point: that of its last valid trial.
type VariantStatics struct {
	Variant            string `json:"variant"`
	Point              Point  `json:"point"`
	Units              int    `json:"units"`
	Processes          *int   `json:"processes,omitempty"`
	Tables             *int   `json:"tables,omitempty"`
	Queues             *int   `json:"queues,omitempty"`
	ConfigurationLines *int   `json:"configuration_lines,omitempty"`
	Images             *int   `json:"images,omitempty"`      // number of different images of the units
	ImageBytes         *int64 `json:"image_bytes,omitempty"` // sum of their uncompressed sizes
	CodeLines          *int   `json:"code_lines,omitempty"`  // of all packages of the variant
	CodeAdded          *int   `json:"code_added,omitempty"`  // in packages that the baseline does not have
	CodeSaved          *int   `json:"code_saved,omitempty"`  // in packages that only the baseline has
	// Unknown says why values are absent, by the name of the field in JSON.
	Unknown map[string]string `json:"unknown,omitempty"`
}
