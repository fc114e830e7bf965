package lab

import (
	"context"
	"strings"
)

// ServiceSpec asks for a backing service in a layout.
type ServiceSpec struct {
	// Name is the system's name for it: "database", "broker", "documents".
	Name string
	// Kind names the backing that provides it: "mariadb", "rabbitmq".
	Kind string
	// Options are the backing's knobs, such as "queue": "quorum".
	Options map[string]string
	// Holds says what the system makes in it; nil: the system does not say.
	Holds *Holdings
	// Node and Limits are those of the unit that is the server; see UnitSpec.
	Node   string
	Limits Limits
	// Loopback is set by the conductor: a server of the user provides the service, on the
	// loopback addresses of the conductor's host, which units in other networks do not reach.
	Loopback bool
	// Replicated services keep what they hold on a replicated disk (see KnobDisk).
	Replicated bool
	// Files is set by the conductor: the service is a folder of the conductor's host.
	Files bool
}

// Holdings are the tables, or collections of documents, and the queues that a system makes in a backing
// service.
type Holdings struct{ Tables, Queues []string }

// Backing provides backing services of one kind.
type Backing interface {
	Kind() string
	// Preflight says what this host lacks for the kind and how to get it.
	Preflight() error
	// Fresh returns a service without content, for one trial. A server of its own is not
	// started yet: that is the deployer's part. The services of a trial are asked for at
	// once. dir is a private, existing directory that lasts as long as the experiment.
	Fresh(ctx context.Context, spec ServiceSpec, dir string) (Service, error)
}

// PermanentBacking is a Backing whose services cannot be killed and started again.
type PermanentBacking interface {
	Backing
	// Permanent says why, and what can be killed instead.
	Permanent() string
}

// EmbeddedBacking is a Backing whose services are a part of the units that use them:
// files instead of a server.
type EmbeddedBacking interface {
	Backing
	Embedded()
}

// FileBacking is an EmbeddedBacking whose services are folders; see FileService.
type FileBacking interface {
	EmbeddedBacking
	Files()
}

// Service is one backing service during one trial.
type Service interface {
	// Server is the unit that provides the service, and has its name; ok is false where
	// the service is a part of the units that use it, or of a server that runs already.
	Server() (unit UnitSpec, ok bool)
	// Address is what clients need to use the service, as one URL with its
	// credentials: it is handed to units in their environment, never as an
	// argument, and written nowhere. at is where they reach the server, as host:port.
	Address(at string) string
	// About says what it really is, for the record, once the server is ready:
	// "MariaDB 10.11.14", or "SecantusDB 0.5.3, a stand-in for MongoDB".
	About() string
	// Release ends the trial's use; the service must not be used afterwards.
	Release() error
}

// EmbeddedService is a Service that is a part of the units that use it.
type EmbeddedService interface {
	Service
	Embedded()
}

// FileService is an EmbeddedService that its clients use as files: they need its folder.
type FileService interface {
	EmbeddedService
	// Folder is a folder of the conductor's host.
	Folder() string
}

// ServiceVariable returns the environment variable in which a unit gets the address
// of a backing service: CLEAVE_SERVICE_DATABASE for "database".
func ServiceVariable(service string) string {
	return "CLEAVE_SERVICE_" + strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
}
