package sampler

import (
	"bufio"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"strings"
)

// program is the executable of a running Go process.
type program struct {
	module string // path of its main module
	table  *gosym.Table
	mapped []mapping        // where its file is in memory
	loads  []elf.ProgHeader // which part of its file belongs at which address
}

// mapping is a part of memory that holds a part of the executable, from an offset in its file on.
type mapping struct{ start, end, offset uint64 }

// openProgram reads the executable of a process.
func openProgram(pid int) (*program, error) {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	lines, text := file.Section(".gopclntab"), file.Section(".text")
	if lines == nil { // a position-independent executable
		lines = file.Section(".data.rel.ro.gopclntab")
	}
	if lines == nil || text == nil {
		return nil, errors.New("it has no table of functions")
	}
	data, err := lines.Data()
	if err != nil {
		return nil, fmt.Errorf("read its table of functions: %w", err)
	}
	p := &program{module: info.Main.Path}
	if p.table, err = gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr)); err != nil {
		return nil, fmt.Errorf("read its table of functions: %w", err)
	}
	for _, header := range file.Progs {
		if header.Type == elf.PT_LOAD {
			p.loads = append(p.loads, header.ProgHeader)
		}
	}
	p.mapped, err = executableOf(pid)
	return p, err
}

// executableOf returns the parts of memory that hold the executable's file.
func executableOf(pid int) ([]mapping, error) {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, err
	}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = maps.Close() }() // only read
	var all []mapping
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// A line: start-end permissions offset device inode path
		var m mapping
		var rights string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %x", &m.start, &m.end, &rights, &m.offset); n == 4 &&
			strings.HasSuffix(lines.Text(), " "+target) {
			all = append(all, m)
		}
	}
	return all, nil
}

// names returns the names of the functions at addresses of the process. It leaves out addresses outside
// of the program's own code, such as those in a C library.
func (p *program) names(addresses []uint64) []string {
	var all []string
	for i, address := range addresses {
		if i > 0 {
			address-- // the address of a caller is the one after its call
		}
		if f := p.table.PCToFunc(p.linked(address)); f != nil {
			all = append(all, f.Name)
		}
	}
	return all
}

// linked converts an address in memory to the address in the executable, or 0 if it is not in the
// executable.
func (p *program) linked(address uint64) uint64 {
	for _, m := range p.mapped {
		if address < m.start || address >= m.end {
			continue
		}
		inFile := address - m.start + m.offset
		for _, load := range p.loads {
			if inFile >= load.Off && inFile < load.Off+load.Filesz {
				return inFile - load.Off + load.Vaddr
			}
		}
	}
	return 0
}
