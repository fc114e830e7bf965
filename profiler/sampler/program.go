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
	lines := file.Section(".gopclntab")
	text := file.Section(".text")
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
	goCode := gosym.NewLineTable(data, startOfGoCode(file, lines, text))
	if p.table, err = gosym.NewTable(nil, goCode); err != nil {
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

// startOfGoCode returns the address to which the table of functions, lines, refers (runtime.text). With cgo,
// a C linker puts functions of C before it, at the start of the section text.
func startOfGoCode(file *elf.File, lines, text *elf.Section) uint64 {
	section, at := lines, uint64(3*pointer) // the field textStart of runtime.pcHeader, before Go 1.26
	if module := file.Section(".go.module"); module != nil {
		section, at = module, 22*pointer // the field text of runtime.moduledata
	}
	if start := pointerAt(file, section, at); start-text.Addr < text.Size { // unsigned: start is in text
		return start
	}
	return text.Addr
}

// pointer is the size of a pointer, in bytes.
const pointer = 8

// pointerAt returns a pointer in a section, or 0 if there is none. The table of relocations has the pointers
// of a position-independent executable.
func pointerAt(file *elf.File, section *elf.Section, at uint64) uint64 {
	word := make([]byte, pointer)
	if _, err := section.ReadAt(word, int64(at)); err == nil && file.ByteOrder.Uint64(word) != 0 {
		return file.ByteOrder.Uint64(word)
	}
	if relocations := file.Section(".rela.dyn"); relocations != nil {
		data, _ := relocations.Data()                           // without them there is no pointer
		for ; len(data) >= 3*pointer; data = data[3*pointer:] { // address, kind and value
			if file.ByteOrder.Uint64(data) == section.Addr+at {
				return file.ByteOrder.Uint64(data[2*pointer:])
			}
		}
	}
	return 0
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
