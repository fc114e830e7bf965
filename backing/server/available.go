package server

import (
	"context"
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

// missing returns the error for a server that is not installed: what is missing, and the command that
// installs it.
func missing(kind Kind, what, install string) error {
	return &lab.MissingError{What: fmt.Sprintf("%s is not installed (%s)", kind, what), Install: install}
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
	return "", missing(kind, "there is no "+name, lab.AptInstall(debianPackage(kind)))
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
