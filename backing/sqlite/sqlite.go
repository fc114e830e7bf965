// Package sqlite provides SQLite as a backing service: a folder of files for each
// trial. SQLite is part of the units that use it, so nothing runs and nothing is
// metered beside them.
//
// Entry point: New.
package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/cleave-lab/cleave/lab"
)

// Kind is its name in study files.
const Kind = "sqlite"

// Backing provides folders.
type Backing struct{}

var (
	_ lab.PermanentBacking = Backing{}
	_ lab.FileBacking      = Backing{}
)

// New makes the backing.
func New() Backing { return Backing{} }

// Kind implements lab.Backing.
func (Backing) Kind() string { return Kind }

// Preflight implements lab.Backing: SQLite is part of the program.
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

// Address implements lab.Service.
func (s service) Address(string) string { return "sqlite://" + filepath.ToSlash(s.folder) }

// Embedded implements lab.EmbeddedService.
func (s service) Embedded() {}

// Folder implements lab.FileService.
func (s service) Folder() string { return s.folder }

// About implements lab.Service.
func (s service) About() string {
	return "SQLite (modernc.org/sqlite " + moduleVersion() + "), embedded"
}

// Server implements lab.Service: there is none.
func (s service) Server() (unit lab.UnitSpec, ok bool) { return unit, false }

// Release implements lab.Service.
func (s service) Release() error { return os.RemoveAll(s.folder) }

// moduleVersion returns the module version of the module that SQLite comes in, as far as it is known.
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
