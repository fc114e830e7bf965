package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/inputfile"
)

// Lock gives this process the exclusive right to play into the folder, until Unlock or the end of the
// process. Reading needs no lock. The lock belongs to the open file, so that others can ask whether it is
// held (Shelf.State), this process too.
func (f *Folder) Lock() error {
	// A link would lead the trials out of the folder.
	if info, err := os.Lstat(f.Path(trialsDir)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s holds no folder %s to play into: it is damaged", f.dir, trialsDir)
	}
	file, err := os.OpenFile(f.Path(lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return explain(f.Path(lockFile), err)
	}
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		holder, readErr := inputfile.Read(file.Name(), maxSmall)
		err = errors.Join(err, readErr, file.Close())
		if errors.Is(err, unix.EWOULDBLOCK) {
			who := "another process" // it has not written its ID yet
			if pid, err := strconv.Atoi(strings.TrimSpace(string(holder))); err == nil {
				who = fmt.Sprintf("process %d", pid)
			}
			return fmt.Errorf("%s is playing into %s: wait for its end, or end it, then go on with --resume", who,
				f.dir)
		}
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	f.lock = file
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		f.Unlock()
	}
	return explain(file.Name(), err)
}

// Unlock releases the lock of the folder, if this process holds it.
func (f *Folder) Unlock() {
	if f.lock != nil {
		_ = f.lock.Close() // this releases the lock
		f.lock = nil
	}
}
