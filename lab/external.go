package lab

// ExternalSystem is a system that somebody else wrote, as far as Cleave must
// know it. Its service is at URL. It runs already, or Cleave starts it for every
// trial: by Command or by Compose.
//
// In Command, Env and URL, {port} stands for a free port of this host, chosen for
// every trial.
type ExternalSystem struct {
	URL string `json:"url"`
	// Command is the program and its arguments; no shell reads it.
	Command []string          `json:"command,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Compose *Compose          `json:"compose,omitempty"`
	Ready   ReadyCheck        `json:"ready"`
	// Reset is a command that runs before every trial, before the system starts.
	Reset []string `json:"reset,omitempty"`
	// Cores are those of the system; empty means any.
	Cores []int `json:"cores,omitempty"`
}

// Compose is a set of containers that `docker compose` starts together.
type Compose struct {
	Text string `json:"text"` // the compose file itself
	Dir  string `json:"dir"`  // that its relative paths start from
}
