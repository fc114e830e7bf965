// Package sqlite provides SQLite as a backing service: a folder of files for each
// trial. SQLite runs inside of the units that use it, so there is no server to start
// or to meter.
//
// Entry point: New.
package sqlite

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/cleave-lab/cleave/lab"
)

// Kind is the name of this backing in study files.
const Kind = "sqlite"

// Backing provides a folder for each trial.
type Backing struct{}

var (
	_ lab.PermanentBacking = Backing{}
	_ lab.FileBacking      = Backing{}
)

// New returns the backing.
func New() Backing { return Backing{} }

// Kind implements lab.Backing.
func (Backing) Kind() string { return Kind }

// Preflight implements lab.Backing. SQLite is compiled in, so there is nothing to check.
func (Backing) Preflight() error { return nil }

// Embedded implements lab.EmbeddedBacking.
func (Backing) Embedded() {}

// Files implements lab.FileBacking.
func (Backing) Files() {}

// Permanent implements lab.PermanentBacking.
func (Backing) Permanent() string {
	return "SQLite is part of the units that use it and has no process of its own: kill these units, or " +
		"choose a database server"
}

// Fresh implements lab.Backing.
func (Backing) Fresh(_ context.Context, spec lab.ServiceSpec, dir string) (lab.Service, error) {
	folder, err := os.MkdirTemp(dir, spec.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for sqlite: %w", err)
	}
	return service{folder}, nil
}

var _ lab.FileService = service{}

// service is a folder of databases.
type service struct{ folder string }

// Address returns the address of a folder of databases, for the clients of stores.
func Address(folder string) string {
	return (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(folder)}).String()
}

// Address implements lab.Service.
func (s service) Address(string) string { return Address(s.folder) }

// Embedded implements lab.EmbeddedService.
func (s service) Embedded() {}

// Folder implements lab.FileService.
func (s service) Folder() string { return s.folder }

// About implements lab.Service.
func (s service) About() string {
	return "SQLite (modernc.org/sqlite " + moduleVersion() + "), embedded"
}

// Server implements lab.Service. There is none.
func (s service) Server() (unit lab.UnitSpec, ok bool) { return unit, false }

// Release implements lab.Service.
func (s service) Release() error { return os.RemoveAll(s.folder) }

// moduleVersion returns the version of the SQLite module, or a text if it is unknown.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of unknown version"
	}
	for _, dependency := range info.Deps {
		if dependency.Path == "modernc.org/sqlite" {
			return dependency.Version
		}
	}
	return "of unknown version"
}
