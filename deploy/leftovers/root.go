package leftovers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// elsewhere says how to have another root.
const elsewhere = "have another folder used, in which nobody else can replace what is yours: " +
	"TMPDIR=/that/folder"

// CheckRoot says whether conductors can have private directories below root. It
// leaves nothing.
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

// openRoot opens the root, if nobody but this user can put anything into it. It
// looks at the open folder: what has its name may be another one a moment later.
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
	if err := closed(path, root, named); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// closed says whether an open root belongs to this user alone. Who else may only look
// into it is shut out.
func closed(path string, root *os.Root, named fs.FileInfo) error {
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
			"it holds and "+
			"remove it, or %s", path, mode, elsewhere)
	case mode != 0o700:
		return root.Chmod(".", 0o700)
	}
	return nil
}

// nobody owns what a user namespace has no name for, such as the folders of the host
// to a container.
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
		if by := owner(info); by != 0 && by != os.Geteuid() && by != nobody {
			return fmt.Errorf("%s lies in %s, which belongs to user %d: %s", path, dir, by, elsewhere)
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s lies in %s, in which every user may rename what is of others (mode %03o, not "+
				"sticky): %s",
				path, dir, info.Mode().Perm(), elsewhere)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
