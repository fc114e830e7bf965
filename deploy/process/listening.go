package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listens reports whether a process has a socket that accepts connections, over TCP or as a file. It asks the
// kernel instead of connecting: a connection would be a client that the unit has to deal with.
func listens(pid int) bool {
	own := sockets(pid)
	if len(own) == 0 {
		return false
	}
	inodeColumns := map[string]int{"tcp": 9, "tcp6": 9, "unix": 6}
	for table, column := range inodeColumns {
		for _, socket := range Listeners(pid, table) {
			if own[socket[column]] {
				return true
			}
		}
	}
	return false
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

// Listeners returns the sockets that accept connections in the network of a process, as the columns of a
// table of the kernel: "tcp", "tcp6" or "unix" (proc(5)). There are none in a family that the kernel lacks.
func Listeners(pid int, table string) (all [][]string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	for line := range strings.Lines(string(text)) {
		// The fourth column is the state, 0A for LISTEN; of a Unix socket the flags, 00010000 if it accepts.
		if columns := strings.Fields(line); len(columns) > 6 && (columns[3] == "0A" || columns[3] == "00010000") {
			all = append(all, columns)
		}
	}
	return all
}
