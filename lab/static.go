package lab

// StaticCost holds the cost of a trial's layout beside run time. It is no score. What is not known is absent,
// and Unknown says why, by the name of the field in JSON.
type StaticCost struct {
	// Units counts the units that run when the load begins and the servers of backing services, without the
	// generator; Processes counts their processes.
	Units     int  `json:"units"`
	Processes *int `json:"processes,omitempty"`
	// Tables counts the tables, or collections of documents, that the system makes, and Queues its queues.
	Tables *int `json:"tables,omitempty"`
	Queues *int `json:"queues,omitempty"`
	// ConfigurationLines counts the arguments, variables and lines of files that configure units and servers,
	// once for all units of a role. Of a compose file or of manifests it counts the lines of these files.
	// Blank lines and lines of comments do not count.
	ConfigurationLines *int `json:"configuration_lines,omitempty"`
	// Images are the images of the unit programs, or those of the user's that units are containers of.
	Images []ProgramImage `json:"images,omitempty"`
	// Code has the lines of code of the packages that the variant is built from, by package.
	Code    map[string]int    `json:"code,omitempty"`
	Unknown map[string]string `json:"unknown,omitempty"`
}

// VariantStatics is the static cost of a variant at a point, as its last trial that counts had it.
type VariantStatics struct {
	Variant            string `json:"variant"`
	Point              Point  `json:"point"`
	Units              int    `json:"units"`
	Processes          *int   `json:"processes,omitempty"`
	Tables             *int   `json:"tables,omitempty"`
	Queues             *int   `json:"queues,omitempty"`
	ConfigurationLines *int   `json:"configuration_lines,omitempty"`
	// Images counts the images of the units, and ImageBytes adds up their sizes.
	Images     *int   `json:"images,omitempty"`
	ImageBytes *int64 `json:"image_bytes,omitempty"`
	// CodeLines counts the lines of code of the variant. CodeAdded counts those in packages that the baseline
	// has not, and CodeSaved those in packages that only the baseline has; both are 0 of the baseline itself.
	CodeLines *int `json:"code_lines,omitempty"`
	CodeAdded *int `json:"code_added,omitempty"`
	CodeSaved *int `json:"code_saved,omitempty"`
	// Unknown says why a field of this name in StaticCost is not known.
	Unknown map[string]string `json:"unknown,omitempty"`
}
