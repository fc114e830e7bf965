package lab

import (
	"context"
	"strings"
)

// ServiceSpec requests a backing service in a layout.
type ServiceSpec struct {
	// Name is the system's name for it: "database", "broker", "documents".
	Name string
	// Kind is the kind of the backing: "mariadb", "rabbitmq".
	Kind string
	// Options holds the backing's knobs, such as "queue": "quorum".
	Options map[string]string
	// Holds lists the tables and queues that the system creates in it; nil: unknown.
	Holds *Holdings
	// Node and Limits are those of the server's unit; see UnitSpec.
	Node   string
	Limits Limits
	// Loopback is set by the conductor: a server of the user provides the service, on a
	// loopback address of the conductor's host, which units in other networks cannot reach.
	Loopback bool
	// Replicated services store their data on a replicated disk (see KnobDisk).
	Replicated bool
	// Files is set by the conductor: the service is a folder of the conductor's host.
	Files bool
}

// Holdings lists the tables, or collections of documents, and the queues that a system creates in a backing
// service.
type Holdings struct{ Tables, Queues []string }

// Backing provides backing services of one kind.
type Backing struct {
	Kind string
	// Preflight returns an error if this host lacks a part for the kind, with the command that installs it; nil:
	// nothing can be missing.
	Preflight func() error
	// Fresh returns an empty service for one trial. It starts no server: the deployer does.
	// It is called concurrently for the services of a trial. dir is a private, existing
	// directory that exists as long as the experiment.
	Fresh func(ctx context.Context, spec ServiceSpec, dir string) (Service, error)
	// Permanent gives the reason why the services cannot be killed and restarted, and names what can be killed
	// instead; empty: they can be killed.
	Permanent string
	// Loopback and Files are set for all services of the backing: see ServiceSpec.
	Loopback, Files bool
}

// Service is one backing service during one trial.
type Service struct {
	// Server is the server's unit, which has the name of the service; nil: the service is embedded, or provided
	// by a server that runs already.
	Server *UnitSpec
	// Address returns the service's URL with credentials, for a server that is reached at
	// host:port. Units get it in their environment, never as an argument; it must not be
	// stored.
	Address func(at string) string
	// About returns the program and version of the service, once the server is ready:
	// "MariaDB 10.11.14", or "SecantusDB 0.5.3, a stand-in for MongoDB".
	About func() string
	// Release frees the service at the end of the trial; it must not be used afterwards. nil: there is nothing
	// to free.
	Release func() error
	// Folder is the folder of the conductor's host with the data of a service of Files, which its clients need.
	Folder string
}

// ServiceVariable returns the name of the environment variable with the address of a
// backing service: CLEAVE_SERVICE_DATABASE for "database".
func ServiceVariable(service string) string {
	return "CLEAVE_SERVICE_" + strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
}
