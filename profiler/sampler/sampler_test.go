package sampler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// burner is a program without any preparation for sampling. It spends its time in a function of its own,
// which another one calls, and a little in the kernel.
const burner = `package main

import "os"

var sum int

//go:noinline
func spin(n int) {
	for i := 0; i < n; i++ {
		sum += i * i
	}
}

//go:noinline
func work(null *os.File) {
	spin(1_000_000)
	for range 1000 {
		null.Write([]byte{0})
	}
}

func main() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	for {
		work(null)
	}
}
`

// TestAForeignProgramIsSampled samples a stripped program, one that the kernel loads at a random address, and
// one of each kind in which the linker has put functions of C before those of Go.
func TestAForeignProgramIsSampled(t *testing.T) {
	const stripped = "-ldflags=-s -w"
	for name, flags := range map[string][]string{"stripped": {stripped},
		"position-independent": {"-buildmode=pie"}, "with C": {stripped, "-tags=c"},
		"with C, position-independent": {stripped, "-tags=c", "-buildmode=pie"}} {
		t.Run(name, func(t *testing.T) {
			if name != "stripped" {
				testset.Need(t, "it compiles the standard library once more")
			}
			process := run(t, flags)
			s, err := Start()
			if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
				t.Skipf("%v: type: scripts/need.sh test-all", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			waitUntilBurned(t, process, 1)
			// One more thread of the process, and processes that are not of interest: this one and init.
			all := s.End([]lab.ThreadUse{{Unit: "u", Role: "r", ID: "1", PID: process}, {ID: "2", PID: process},
				{PID: os.Getpid()}, {PID: 1}})
			i := slices.IndexFunc(all, func(p lab.ProgramSamples) bool { return p.Unit == "u" && p.Role == "r" })
			if i < 0 {
				t.Fatalf("the program is not among %d that were sampled", len(all))
			}
			if p := all[i]; p.Own != "burner" || !slices.Equal(p.Threads, []string{"1", "2"}) {
				t.Errorf("its module is %q, want burner; its threads are %q", p.Own, p.Threads)
			}
			var total, spinning, below, kernel int
			for _, stack := range all[i].Stacks {
				total += stack.Count
				if len(stack.Functions) > 0 && stack.Functions[0] == "main.spin" {
					spinning += stack.Count
					if slices.Contains(stack.Functions, "main.main") {
						below += stack.Count
					}
				}
				if stack.Kernel && slices.Contains(stack.Functions, "os.(*File).Write") {
					kernel += stack.Count
				}
			}
			if total < 100 || spinning < total/2 || below < spinning/2 {
				t.Errorf("of %d samples %d are in main.spin, %d of them below main.main; want most", total, spinning,
					below)
			}
			if kernel == 0 {
				t.Errorf("of %d samples none is in a system call of os.(*File).Write: %+v", total, all[i].Stacks)
			}
		})
	}
}

// waitUntilBurned waits until a process has used more seconds of CPU time, however busy this host is.
func waitUntilBurned(t *testing.T, pid int, more float64) {
	t.Helper()
	used := func() float64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		// proc(5): the fields from 3 on. 14 and 15 are the CPU time, in ticks of 10 ms.
		_, behind, _ := strings.Cut(string(text), ") ")
		var ticks [2]float64
		for i, field := range strings.Fields(behind)[11:13] {
			if ticks[i], err = strconv.ParseFloat(field, 64); err != nil {
				t.Fatal(err)
			}
		}
		return (ticks[0] + ticks[1]) / 100
	}
	for least, deadline := used()+more, time.Now().Add(time.Minute); used() < least; {
		if time.Now().After(deadline) {
			t.Fatalf("process %d used less than %v s of CPU time in a minute", pid, more)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// run starts the program, built with flags, and returns its process.
func run(t *testing.T, flags []string) int {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": burner, "go.mod": "module burner\n\ngo 1.24\n",
		"c.go": "//go:build c\n\npackage main\n\nimport \"C\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", "burner", ".")...)
	build.Dir = dir
	if slices.Contains(flags, "-tags=c") {
		build.Env = append(os.Environ(), "CGO_ENABLED=1")
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip(err)
		}
	}
	if text, err := build.CombinedOutput(); err != nil {
		if strings.Contains(string(text), "requires external") {
			t.Skipf("no such program can be built here: %s", text)
		}
		t.Fatalf("build: %v: %s", err, text)
	}
	program := exec.CommandContext(t.Context(), filepath.Join(dir, "burner"))
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Wait() }) // the context ends it
	return program.Process.Pid
}

// TestRecordsGoOverTheEndOfTheRing reads a record that continues at the beginning of the ring, and skips
// records that are not valid samples.
func TestRecordsGoOverTheEndOfTheRing(t *testing.T) {
	page := os.Getpagesize()
	memory := make([]byte, 2*page)
	about := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))
	about.Data_offset = uint64(page)
	about.Data_size = uint64(page)
	r := newRing(-1, memory)
	var record []byte
	put := func(values ...uint64) {
		for _, v := range values {
			record = binary.LittleEndian.AppendUint64(record, v)
		}
	}
	header := func(kind, size uint64) uint64 { return kind | size<<48 }
	const kernel = ^uint64(128 - 1)
	put(header(unix.PERF_RECORD_SAMPLE, 64), 7|8<<32, 5, kernel, 0xffff, contextUser, 0x10, 0x20)
	put(header(unix.PERF_RECORD_LOST, 24), 1, 3)
	put(header(unix.PERF_RECORD_SAMPLE, 24), 9|9<<32, 1<<40) // more addresses than the record holds
	begin := uint64(page - 40)                               // the ring ends within the first record
	for i, b := range record {
		memory[page+int(begin+uint64(i))%page] = b
	}
	about.Data_tail = begin
	about.Data_head = begin + uint64(len(record))
	var all []sample
	r.each(func(s sample) { all = append(all, s) })
	if len(all) != 1 || all[0].pid != 7 || !all[0].kernel || !slices.Equal(all[0].frames, []uint64{0x10, 0x20}) {
		t.Errorf("read %+v", all)
	}
	if about.Data_tail != about.Data_head {
		t.Errorf("the kernel is told that %d bytes are still needed", about.Data_head-about.Data_tail)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(uint32(unix.PERF_RECORD_SAMPLE), make([]byte, 40))
	f.Fuzz(func(t *testing.T, kind uint32, body []byte) {
		if s, is := parse(kind, body); is && len(s.frames) > mostFrames {
			t.Errorf("%d frames", len(s.frames))
		}
	})
}
