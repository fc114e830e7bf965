package lab

import "encoding/json"

// ExternalSystem describes a system of the user, which answers at URL. It runs already, or
// Cleave starts it for every trial by Command, Image, Compose or Services.
//
// In Command, Env and URL, {port} is replaced by the port on which the system must listen,
// chosen for every trial; in Command and Env {host} is replaced by its address, which
// depends on the deployment. References ${CLEAVE_MASKED_...} in Command, Reset, Compose and
// Services stand for values that looked like secrets.
type ExternalSystem struct {
	URL string `json:"url"`
	// Command is the program and its arguments; no shell reads it.
	Command []string `json:"command,omitempty"`
	// Image is a Docker image; the system is a container of it, with Command as its command
	// (empty: that of the image).
	Image string `json:"image,omitempty"`
	// Port is the fixed port on which an Image listens; 0: it listens on {port}.
	Port int `json:"port,omitempty"`
	// Dir is the folder of this host in which Command and Reset run; empty: one of their own.
	Dir string `json:"dir,omitempty"`
	// Env may have references, ${NAME}, to variables of EnvFile or of Cleave's environment,
	// whose values are not stored in plans; $${ stands for the text ${.
	Env map[string]string `json:"env,omitempty"`
	// EnvFile is the path of a file with lines NAME=VALUE.
	EnvFile string   `json:"env_file,omitempty"`
	Compose *Compose `json:"compose,omitempty"`
	// FileLines is the number of lines of the system's compose file or manifests, without blank lines and
	// comments; 0: there are none, or they cannot be counted.
	FileLines int `json:"file_lines,omitempty"`
	// Services lists the containers of the system, each a unit with the name of its service; Entry is the
	// service that answers at URL.
	Services []SystemService `json:"services,omitempty"`
	Entry    string          `json:"entry,omitempty"`
	Ready    SystemReady     `json:"ready"`
	// Reset is a command that runs before every trial, before the system starts.
	Reset []string `json:"reset,omitempty"`
	// Cores lists the cores for the system; empty means any.
	Cores []int `json:"cores,omitempty"`
	// Audit checks the state of the system after a load; nil: only the answers are checked.
	Audit *SystemAudit `json:"audit,omitempty"`
	// NameBy selects how processes of the same program are named: "folder", "port", an argument by its name
	// ("--service": the value of that flag) or by its number, counted from 1; absent: by their folders if these
	// differ, else by their ports.
	NameBy string `json:"name_by,omitempty"`
}

// RunsAlready reports whether the system runs already, and Cleave does not start it. A nil system, one of
// Cleave, does not.
func (x *ExternalSystem) RunsAlready() bool {
	return x != nil && len(x.Command) == 0 && x.Image == "" && x.Compose == nil && len(x.Services) == 0
}

// SystemService is a service of a compose file: a container of an image, which may have replicas.
type SystemService struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// Install is the command that gets the image if Docker does not have it.
	Install string `json:"install,omitempty"`
	// Port is the port at which it is called; 0: unknown.
	Port int `json:"port,omitempty"`
	// After lists the services that must be ready, or have finished, before it starts.
	After []string `json:"after,omitempty"`
	// Healthy: it is ready when its health check succeeds.
	Healthy bool `json:"healthy,omitempty"`
	// Finishes: it ends by itself, and services with it in After wait for that.
	Finishes bool `json:"finishes,omitempty"`
	// Restarts: if it ends with an error before the load, it is started again.
	Restarts  bool          `json:"restarts,omitempty"`
	Container ContainerSpec `json:"container"`
}

// SystemAudit checks the state of a system after a load, while it still runs.
type SystemAudit struct {
	// Command is a program of the conductor's host with its arguments, which runs in Dir. It exits with 0 (every
	// rule holds), 5 (one is broken) or 6 (undecided). {history} and {url} are replaced by the generator's
	// history and the address of the system.
	Command []string `json:"command,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	// Requests must get their right answers.
	Requests []AuditRequest `json:"requests,omitempty"`
	// Databases holds the databases of Queries by name.
	Databases map[string]AuditDatabase `json:"databases,omitempty"`
	Queries   []AuditQuery             `json:"queries,omitempty"`
}

// AuditDatabase is a database of the system.
type AuditDatabase struct {
	Driver string `json:"driver" yaml:"driver"` // "postgres" or "mysql", which is for MariaDB, too
	// At is a unit of the system, or a loopback address of the conductor's host, with a port.
	At   string `json:"at" yaml:"at"`
	Name string `json:"name" yaml:"name"`
	User string `json:"user" yaml:"user"`
	// At most one of these gives the password: Password is a reference to a variable, PasswordFile a file of the
	// conductor's host, and PasswordOf a variable of the unit at At.
	Password     string `json:"password,omitempty" yaml:"password,omitempty"`
	PasswordFile string `json:"password_file,omitempty" yaml:"password_file,omitempty"`
	PasswordOf   string `json:"password_of,omitempty" yaml:"password_of,omitempty"`
}

// AuditQuery is a query with its right answer, which is one of Equals, Counts and NoRows.
type AuditQuery struct {
	Rule string `json:"rule"` // the author's description of the rule
	In   string `json:"in"`   // the name of the database
	SQL  string `json:"sql"`
	// Equals is the expected value.
	Equals *string `json:"equals,omitempty"`
	// Counts is an operation: the result must be at least the number of its right answers, and at most that plus
	// the number of its requests with an unknown outcome.
	Counts string `json:"counts,omitempty"`
	NoRows bool   `json:"no_rows,omitempty"`
	// Within is the time after the load in which the result must become right, in seconds.
	Within float64 `json:"within_seconds,omitempty"`
}

// AuditRequest is a GET of a path with its right answer.
type AuditRequest struct {
	Get    string `json:"get"`
	Status int    `json:"status,omitempty"` // 0: 200
	// JSON holds the expected values by their paths in the answer: "items.0.left".
	JSON map[string]json.RawMessage `json:"json,omitempty"`
}

// SystemReady is the readiness check of a system that Cleave starts: the system first has to write its Log,
// then to pass its Command, then to answer its ReadyCheck, each within the Timeout.
type SystemReady struct {
	ReadyCheck
	// Log is a part of a line that the system writes when it is ready; empty: no line is awaited.
	Log string `json:"log,omitempty"`
	// Command is a program of the conductor's host with its arguments, which is run until it
	// exits with 0; {host} and {port} in it are replaced by the system's address.
	Command []string `json:"command,omitempty"`
}

// Compose is a set of containers that `docker compose` starts together.
type Compose struct {
	Text string `json:"text"` // content of the compose file
	Dir  string `json:"dir"`  // base folder of its relative paths
}
