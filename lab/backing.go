package lab

import (
	"context"
	"strings"
)

// ServiceSpec asks for a backing service in a layout.
type ServiceSpec struct {
	// Name is what the system calls it: "database", "broker", "documents".
	Name string
	// Kind names the backing that provides it: "mariadb", "rabbitmq".
	Kind string
	// Options are the backing's knobs, such as "queue": "quorum".
	Options map[string]string
	// Loopback is set by the conductor: a server provides the service, on the loopback
	// addresses of the conductor's host, which units in other networks do not reach.
	Loopback bool
}

// Backing provides backing services of one kind.
type Backing interface {
	Kind() string
	// Preflight says what this host lacks for the kind and how to get it.
	Preflight() error
	// Fresh returns a service without content. The services of a trial are asked for
	// at once. The backing may have used its server before, as long as nothing can be
	// seen of that. dir is a private, existing directory that lasts as long as the
	// experiment.
	Fresh(ctx context.Context, spec ServiceSpec, dir string) (Service, error)
	// Close ends what the backing keeps running between trials.
	Close() error
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

// Service is one backing service during one trial.
type Service interface {
	// Address is what clients need to use the service, as one URL with its
	// credentials: it is handed to units in their environment, never as an
	// argument, and written nowhere.
	Address() string
	// About says what it really is, for the record: "MariaDB 10.11.14", or
	// "SecantusDB 0.5.3, a stand-in for MongoDB".
	About() string
	// Processes are what the meter watches. Empty for an embedded service, which
	// is part of the units that use it.
	Processes() []Unit
	// Release ends the trial's use; the service must not be used afterwards.
	Release() error
}

// Mortal is a Service that can end in mid-trial, which is then a failure of the trial
// like the end of a unit.
type Mortal interface {
	Service
	// Died returns a channel that gets an error when the service ends although nobody
	// killed, restarted or released it: what it was, how it ended, and the end of its log.
	Died() <-chan error
}

// FileService is a Service that its clients use as files: they need its folder.
type FileService interface {
	Service
	// Folder is a folder of the conductor's host.
	Folder() string
}

// ServiceVariable is the environment variable in which a unit gets the address
// of a backing service: CLEAVE_SERVICE_DATABASE for "database".
func ServiceVariable(service string) string {
	return "CLEAVE_SERVICE_" + strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
}
