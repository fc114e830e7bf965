package run

import (
	"errors"
	"io/fs"
	"os"
)

// makeFolder makes a private folder with its parents. Whoever removes a private folder
// removes its parents, too, where nothing else is in them: another cleave that ends,
// or the janitor of the last trial, may do so between the making of a parent and of
// what comes into it. Then all is made again.
func makeFolder(path string) error {
	const attempts = 100
	var err error
	for range attempts {
		// A parent that is gone as soon as it was found says that it exists.
		if err = os.MkdirAll(path, 0o700); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}
