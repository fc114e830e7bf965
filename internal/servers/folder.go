package servers

import (
	"errors"
	"os"
)

// Folder makes a folder for a benchmark that servers can read, which run as other users.
func Folder() (string, error) {
	dir, err := os.MkdirTemp("", "cleave-bench-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
