package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Installed is a server program of this host.
type Installed struct {
	Path    string // of the executable; empty for NATS, which is one of our unit programs
	Version string // as the program or the names of its files say
	// StandIn names the program that is used in place of the requested one; empty if
	// that itself is used. Every output that names the server must name it.
	StandIn string
}

// MissingError means that a server's program is not installed on this host, or does not work.
type MissingError struct {
	Kind    Kind
	What    string // what is missing
	Install string // the command that installs it; empty if there is none
	broken  bool   // it is installed, and does not work
}

// Error implements error.
func (e *MissingError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error as a lab.MissingError.
func (e *MissingError) Unwrap() error {
	state := "is not installed"
	if e.broken {
		state = "does not work"
	}
	return &lab.MissingError{What: fmt.Sprintf("%s %s (%s)", e.Kind, state, e.What), Install: e.Install}
}

// Availability is the result of the search for a server's program on this host.
type Availability struct {
	Kind    Kind
	Server  *Server
	Missing *MissingError // nil if it is installed and works; otherwise Server is nil
}

// Available returns, for every kind of server, the installed program or an error with the
// command that installs it. NATS needs no installation: it is part of Cleave.
func Available() []Availability {
	var all []Availability
	for _, kind := range Kinds() {
		server, err := New(kind, Settings{})
		entry := Availability{Kind: kind, Server: server}
		if err != nil && !errors.As(err, &entry.Missing) {
			entry.Missing = &MissingError{Kind: kind, What: err.Error(), broken: true}
		}
		all = append(all, entry)
	}
	return all
}

// debianPackage returns the package of a server in Debian and Ubuntu.
func debianPackage(kind Kind) string {
	switch kind {
	case MariaDB:
		return "mariadb-server"
	case Postgres:
		return "postgresql"
	case RabbitMQ:
		return "rabbitmq-server"
	case Redis:
		return "redis-server"
	}
	return string(kind)
}

// cacheFolder returns the folder into which scripts/need.sh installs servers that are in no package.
func cacheFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "cleave")
}

// find looks for an executable in PATH and then in further folders, which may be
// patterns. If several files match a pattern, it returns the last one.
func find(kind Kind, name string, folders ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, name)) // the patterns are ours
		for _, path := range slices.Backward(found) {
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", &MissingError{Kind: kind, What: "there is no " + name,
		Install: lab.AptInstall(debianPackage(kind))}
}

// installed finds a program and asks for its version.
func installed(kind Kind, name, versionFlag string, folders ...string) (Installed, error) {
	path, err := find(kind, name, folders...)
	if err != nil {
		return Installed{}, err
	}
	version, err := askVersion(path, versionFlag)
	return Installed{Path: path, Version: version}, err
}

// askVersion runs a program and takes the first version number of its answer.
func askVersion(path, flag string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the program may hang
	defer cancel()
	answer, err := exec.CommandContext(ctx, path, flag).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", path, flag, err, strings.TrimSpace(string(answer)))
	}
	version := firstVersion(string(answer))
	if version == "" {
		return "", fmt.Errorf("%s %s names no version: %s", path, flag, strings.TrimSpace(string(answer)))
	}
	return version, nil
}

// firstVersion finds the first number with dots.
func firstVersion(text string) string {
	return regexp.MustCompile(`\d+(\.\d+)+((a|b|rc)\d+)?`).FindString(text)
}
