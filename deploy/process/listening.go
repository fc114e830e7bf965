package process

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listens reports whether a process has a socket that accepts connections, over
// TCP or as a file. It asks the kernel instead of connecting: a connection would
// be a client that the unit has to deal with.
func listens(pid int) bool {
	own := sockets(pid)
	if len(own) == 0 {
		return false
	}
	root := "/proc/" + strconv.Itoa(pid) + "/net/"
	// proc(5): for TCP the fourth column is the state, 0A for LISTEN, and the tenth
	// the inode; for Unix sockets the fourth has the flags, 00010000 for one that
	// accepts, and the seventh the inode.
	return anyListed(root+"tcp", "0A", 9, own) || anyListed(root+"tcp6", "0A", 9, own) ||
		anyListed(root+"unix", "00010000", 6, own)
}

// sockets returns the inodes of the sockets that a process has open.
func sockets(pid int) map[string]bool {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*") // the pattern is well formed
	found := map[string]bool{}
	for _, link := range links {
		target, err := os.Readlink(link)
		if inode, is := strings.CutPrefix(target, "socket:["); err == nil && is {
			found[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return found
}

// anyListed reports whether a table of the kernel has one of the inodes in the
// given state.
func anyListed(table, state string, inodeColumn int, inodes map[string]bool) bool {
	file, err := os.Open(table)
	if err != nil {
		return false // a kernel without that family of sockets
	}
	defer func() { _ = file.Close() }() // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > inodeColumn && fields[3] == state && inodes[fields[inodeColumn]] {
			return true
		}
	}
	return false
}
