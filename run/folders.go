package run

import (
	"errors"
	"io/fs"
	"os"
)

// makeFolder makes a private folder with its parents. Another cleave that ends, or the janitor of the last
// trial, removes empty parents of its own folder. It may do so between the creation of a parent and of its
// child, so makeFolder tries again.
func makeFolder(path string) error {
	const attempts = 100
	var err error
	for range attempts {
		// MkdirAll returns ErrExist if a parent is removed after it was found.
		if err = os.MkdirAll(path, 0o700); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}
