package meter

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/lab"
)

// tellApart extends the names of processes that share a name by what distinguishes them. lab.Unit.NameBy
// chooses that: the working folder, the listening port, or an argument. The default is the folder, or
// else the port. Processes that do not differ in that, such as the workers of a pool, keep the name.
// Names must be the same in every trial, so they contain neither the folder of the root, which may be a
// folder of the trial, nor the port that the root was given.
func tellApart(root *probe, all []process) {
	sharing := map[string][]*process{}
	for i := range all {
		sharing[all[i].name] = append(sharing[all[i].name], &all[i])
	}
	ports := sync.OnceValue(func() map[*process]string { return portsOf(root, all) })
	for _, twins := range sharing {
		if len(twins) < 2 {
			continue
		}
		switch by := root.unit.NameBy; by {
		case "":
			if !addWhatDiffers(twins, foldersOf(root, twins)) {
				addWhatDiffers(twins, ports())
			}
		case lab.NameByFolder:
			addWhatDiffers(twins, foldersOf(root, twins))
		case lab.NameByPort:
			addWhatDiffers(twins, ports())
		default:
			addWhatDiffers(twins, argumentsOf(twins, by))
		}
	}
}

// addWhatDiffers appends texts to the names of processes if the texts differ, and reports whether they
// do.
func addWhatDiffers(twins []*process, suffixes map[*process]string) bool {
	different := map[string]bool{}
	for _, p := range twins {
		different[suffixes[p]] = true
	}
	if len(different) < 2 {
		return false
	}
	for _, p := range twins {
		p.name += suffixes[p]
	}
	return true
}

// proc returns the path of a file about a process. It never refers to a later process with the same
// number.
func (p *probe) proc(name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", p.dir, name) }

// foldersOf returns " in FOLDER" for processes: the folder of the script that they were started with, or
// else their working folder, unless the root has the same.
func foldersOf(root *probe, twins []*process) map[*process]string {
	suffixes := map[*process]string{}
	usual, err := os.Readlink(root.proc("cwd"))
	for _, p := range twins {
		folder := path.Dir(p.file)
		if folder == "." {
			cwd, failed := os.Readlink(p.probe.proc("cwd"))
			if errors.Join(err, failed) != nil || cwd == usual {
				continue
			}
			folder = cwd
		}
		suffixes[p] = " in " + path.Base(folder)
	}
	return suffixes
}

// argumentsOf returns an argument of each process, after a space; see lab.Unit.NameBy.
func argumentsOf(twins []*process, argument string) map[*process]string {
	suffixes := map[*process]string{}
	number, _ := strconv.Atoi(argument) // 0: it is the name of an argument
	for _, p := range twins {
		text, _ := os.ReadFile(p.probe.proc("cmdline")) // empty if it has ended
		all := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if number > 0 && number < len(all) {
			suffixes[p] = " " + all[number]
		}
		for i, word := range all {
			name, value, joined := strings.Cut(word, "=")
			if name != argument {
				continue
			}
			if !joined && i+1 < len(all) {
				value = all[i+1]
			}
			suffixes[p] = " " + argument + " " + value
		}
	}
	return suffixes
}

// portsOf returns " at :PORT" for the processes that listen, with the lowest of their ports. If the
// command or the environment of the root contains exactly one of these ports, it is left out: the root was
// given it, and it may differ between trials. Of several such ports it cannot tell which one was given, so it
// leaves out none: the others may be the only difference between the processes.
func portsOf(root *probe, all []process) map[*process]string {
	suffixes := map[*process]string{}
	found := map[*process]int{}
	listening := map[string]int{}
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		readListening(root.proc(table), listening)
	}
	for i := range all {
		if port := lowestPort(all[i].probe, listening); port > 0 {
			found[&all[i]] = port
		}
	}
	assigned := map[int]bool{}
	for _, port := range found {
		if root.mentions(strconv.Itoa(port)) {
			assigned[port] = true
		}
	}
	for p, port := range found {
		if len(assigned) != 1 || !assigned[port] {
			suffixes[p] = fmt.Sprintf(" at :%d", port)
		}
	}
	return suffixes
}

// readListening reads the listening ports from a table of the kernel, by the inodes of their sockets
// (proc_pid_net(5): column 2 is the address, 4 the state, 0A for LISTEN, and 10 the inode).
func readListening(table string, ports map[string]int) {
	file, err := os.Open(table)
	if err != nil {
		return // the kernel lacks that family of sockets
	}
	defer func() { _ = file.Close() }() // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		_, text, _ := strings.Cut(fields[1], ":")
		if port, err := strconv.ParseUint(text, 16, 16); err == nil {
			ports[fields[9]] = int(port)
		}
	}
}

// lowestPort returns the lowest port on which a process listens, or 0.
func lowestPort(p *probe, listening map[string]int) int {
	lowest := 0
	files, err := os.ReadDir(p.proc("fd"))
	if err != nil {
		return 0 // it has ended since
	}
	for _, file := range files {
		target, _ := os.Readlink(p.proc("fd/" + file.Name())) // empty if it was closed meanwhile
		inode, _ := strings.CutPrefix(target, "socket:[")
		port, listens := listening[strings.TrimSuffix(inode, "]")]
		if !listens {
			continue
		}
		if lowest == 0 || port < lowest {
			lowest = port
		}
	}
	return lowest
}

// mentions reports whether the command or the environment of a process contains a number.
func (p *probe) mentions(number string) bool {
	for _, name := range []string{"cmdline", "environ"} {
		text, _ := os.ReadFile(p.proc(name)) // empty if it has ended
		for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r < '0' || r > '9' }) {
			if word == number {
				return true
			}
		}
	}
	return false
}
