package lab

import "encoding/json"

// ExternalSystem is a system that somebody else wrote, as far as Cleave must
// know it. Its service is at URL. It runs already, or Cleave starts it for every
// trial: by Command or by Compose.
//
// In Command, Env and URL, {port} stands for the port that the system is to listen on,
// chosen for every trial, and in Command and Env {host} for the address, which its deployment
// gives it. References to ${CLEAVE_MASKED_...} in Command, Reset, Compose and Services stand for
// values that looked like secrets.
type ExternalSystem struct {
	URL string `json:"url"`
	// Command is the program and its arguments; no shell reads it.
	Command []string `json:"command,omitempty"`
	// Image names an image of Docker's daemon that the system is a container of, with Command
	// as what it is told; empty: what the image says itself.
	Image string `json:"image,omitempty"`
	// Port is the one that an Image listens on, whatever it is told; 0: it listens on {port}.
	Port int `json:"port,omitempty"`
	// Dir is the folder of this host that Command and Reset run in; empty: one of their own.
	Dir string `json:"dir,omitempty"`
	// Env has references, ${NAME}, to variables of EnvFile or of the environment of
	// Cleave, whose values are nowhere else; $${ is a plain ${.
	Env map[string]string `json:"env,omitempty"`
	// EnvFile is the path of a file with lines NAME=VALUE.
	EnvFile string   `json:"env_file,omitempty"`
	Compose *Compose `json:"compose,omitempty"`
	// FileLines counts the lines of the compose file or of the manifests that the system is read from, without
	// blank lines and comments; 0: it is read from neither, or they cannot be counted.
	FileLines int `json:"file_lines,omitempty"`
	// Services are the containers that the system consists of, each a unit with the name of its service;
	// Entry is the one of them that answers at URL.
	Services []SystemService `json:"services,omitempty"`
	Entry    string          `json:"entry,omitempty"`
	Ready    SystemReady     `json:"ready"`
	// Reset is a command that runs before every trial, before the system starts.
	Reset []string `json:"reset,omitempty"`
	// Cores are those of the system; empty means any.
	Cores []int `json:"cores,omitempty"`
	// Audit judges what the system holds after a load; nil: only the answers are judged.
	Audit *SystemAudit `json:"audit,omitempty"`
	// NameBy tells how to name the processes of one program that a command starts: "folder", "port", the name
	// of an argument or its number; empty: by their folders, else by their ports.
	NameBy string `json:"name_by,omitempty"`
}

// RunsAlready reports whether Cleave finds the system running; a system of Cleave's own, nil, is not.
func (x *ExternalSystem) RunsAlready() bool {
	return x != nil && len(x.Command) == 0 && x.Image == "" && x.Compose == nil && len(x.Services) == 0
}

// SystemService is a service of a compose file: a container of an image, which may run several times.
type SystemService struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// Install is the command that brings the image where Docker lacks it.
	Install string `json:"install,omitempty"`
	// Port is the one that it is called at; 0: nobody knows.
	Port int `json:"port,omitempty"`
	// After are services that can be used, or have done their part, before it starts.
	After []string `json:"after,omitempty"`
	// Healthy services can be used when their health check says so.
	Healthy bool `json:"healthy,omitempty"`
	// Finishes: it does its part and ends, and those After it wait for that.
	Finishes bool `json:"finishes,omitempty"`
	// Restarts: before the load, it is started again when it ends with an error.
	Restarts  bool          `json:"restarts,omitempty"`
	Container ContainerSpec `json:"container"`
}

// SystemAudit judges what a system holds after a load, while it still runs.
type SystemAudit struct {
	// Command is a program of the conductor's host and its arguments, which ends with 0 (every rule holds), 5
	// (one is broken) or 6 (undecided). {history} and {url} stand for the generator's history and the address
	// of the system. It runs in Dir.
	Command []string `json:"command,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	// Requests are answered rightly where every rule holds.
	Requests []AuditRequest `json:"requests,omitempty"`
	// Databases, by the names that Queries have for them, are asked for what the system has stored.
	Databases map[string]AuditDatabase `json:"databases,omitempty"`
	Queries   []AuditQuery             `json:"queries,omitempty"`
}

// AuditDatabase is a database of the system.
type AuditDatabase struct {
	Driver string `json:"driver"` // "postgres" or "mysql", which is for MariaDB, too
	// At is where it is: a unit of the system, or a loopback address of the conductor's host, and a port.
	At   string `json:"at"`
	Name string `json:"name"`
	User string `json:"user"`
	// One of these has the password; none: there is none. Password refers to a variable, PasswordFile is a
	// file of the conductor's host, and PasswordOf is a variable of the unit at At.
	Password     string `json:"password,omitempty"`
	PasswordFile string `json:"password_file,omitempty"`
	PasswordOf   string `json:"password_of,omitempty"`
}

// AuditQuery is a query with its right answer, which is one of Equals, Counts and NoRows.
type AuditQuery struct {
	Rule string `json:"rule"` // in the words of who wrote it
	In   string `json:"in"`   // the database
	SQL  string `json:"sql"`
	// Equals is the value that comes.
	Equals *string `json:"equals,omitempty"`
	// Counts is an operation: the number that comes is at least that of the answers that were right, and no
	// more than that with those of which nobody knows what happened.
	Counts string `json:"counts,omitempty"`
	NoRows bool   `json:"no_rows,omitempty"`
	// Within is how long after the load the answer may become right, in seconds.
	Within float64 `json:"within_seconds,omitempty"`
}

// AuditRequest is a GET of a path with its right answer.
type AuditRequest struct {
	Get    string `json:"get"`
	Status int    `json:"status,omitempty"` // 0: 200
	// JSON has values of the answer by their paths: "items.0.left".
	JSON map[string]json.RawMessage `json:"json,omitempty"`
}

// SystemReady says when a system that Cleave starts may be loaded: after its Log, its Command and
// its ReadyCheck, each within the Timeout.
type SystemReady struct {
	ReadyCheck
	// Log is a part of a line that the system writes when it can be used; empty: none.
	Log string `json:"log,omitempty"`
	// Command is a program of the conductor's host and its arguments, which runs until it ends
	// with 0; {host} and {port} in it stand for the system's address.
	Command []string `json:"command,omitempty"`
}

// Compose is a set of containers that `docker compose` starts together.
type Compose struct {
	Text string `json:"text"` // the compose file itself
	Dir  string `json:"dir"`  // that its relative paths start from
}
