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

// New returns the backing. SQLite is compiled in, so nothing can be missing.
func New() lab.Backing {
	return lab.Backing{Kind: Kind, Files: true, Fresh: fresh,
		Permanent: "SQLite is part of the units that use it and has no process of its own: kill these units, or " +
			"choose a database server"}
}

// fresh returns a new folder.
func fresh(_ context.Context, spec lab.ServiceSpec, dir string) (lab.Service, error) {
	folder, err := os.MkdirTemp(dir, spec.Name+"-")
	if err != nil {
		return lab.Service{}, fmt.Errorf("make a folder for sqlite: %w", err)
	}
	return lab.Service{Folder: folder,
		Address: func(string) string { return Address(folder) },
		About:   func() string { return "SQLite (modernc.org/sqlite " + moduleVersion() + "), embedded" },
		Release: func() error { return os.RemoveAll(folder) },
	}, nil
}

// Address returns the address of a folder of databases, for the clients of stores.
func Address(folder string) string {
	return (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(folder)}).String()
}

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
