package leftovers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Root returns the directory that holds the private directories of this user's
// conductors.
func Root() string {
	root := filepath.Join(os.TempDir(), "cleave-"+strconv.Itoa(os.Geteuid()))
	if absolute, err := filepath.Abs(root); err == nil {
		return absolute
	}
	return root
}

// elsewhere is the advice to use another root.
const elsewhere = "have another folder used, in which nobody else can replace what is yours: " +
	"TMPDIR=/that/folder"

// CheckRoot returns an error unless conductors can have private directories below
// root. It makes nothing.
func CheckRoot(root string) error {
	opened, err := openRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return checkParents(root)
	}
	if err != nil {
		return err
	}
	return opened.Close()
}

// openRoot opens the root if no other user can write to it. It checks the folder that
// it has opened: the name may lead to another one a moment later.
func openRoot(path string) (*os.Root, error) {
	if err := checkParents(path); err != nil {
		return nil, err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }() // only read
	named, err := parent.Lstat(filepath.Base(path))
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s, which user %d has made, is no folder but %s: remove it, or %s",
			path, owner(named), fs.FormatFileInfo(named), elsewhere)
	}
	root, err := parent.OpenRoot(filepath.Base(path))
	if err != nil {
		return nil, err
	}
	if err := ensurePrivate(path, root, named); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// ensurePrivate returns an error unless an open root belongs to this user, who alone may
// write to it. It takes the permission to read from others.
func ensurePrivate(path string, root *os.Root, named fs.FileInfo) error {
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	switch mode := opened.Mode().Perm(); {
	case !os.SameFile(named, opened):
		return fmt.Errorf("%s was replaced while it was opened: %s", path, elsewhere)
	case owner(opened) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to user %d who runs this, so it is not used: %s",
			path, owner(opened), os.Geteuid(), elsewhere)
	case mode&0o022 != 0:
		return fmt.Errorf("%s may be written by other users (mode %03o), so what is in it is not used: look what "+
			"it holds and remove it, or %s", path, mode, elsewhere)
	case mode != 0o700:
		return root.Chmod(".", 0o700)
	}
	return nil
}

// nobody is the owner, as seen in a user namespace, of files of users that the namespace
// does not map, such as folders of the host in a container.
const nobody = 65534

// checkParents refuses a root below a folder in which another user can rename it.
func checkParents(path string) error {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("the folder for temporary files is not there: make it, or have another used with "+
			"TMPDIR: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if by := owner(info); !slices.Contains([]int{0, os.Geteuid(), nobody}, by) {
			return fmt.Errorf("%s lies in %s, which belongs to user %d: %s", path, dir, by, elsewhere)
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s lies in %s, in which every user may rename what is of others (mode %03o, not "+
				"sticky): %s", path, dir, info.Mode().Perm(), elsewhere)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// owner returns the user ID of a file's owner.
func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
