package inputfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// odd returns a folder with two regular files, one file of each other kind, and links.
func odd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "ten"), []byte("0123456789"), 0o600),
		os.WriteFile(filepath.Join(dir, "eleven"), []byte("0123456789a"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink("pipe", filepath.Join(dir, "link-to-pipe")),
		os.Symlink("ten", filepath.Join(dir, "link-to-ten")),
		os.Symlink("/dev/zero", filepath.Join(dir, "link-to-device")),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOnlyRegularFilesAreRead: if the pipe were opened like a file, the test would wait
// forever; the device would fill the memory.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := odd(t)
	root, err := Folder(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	cases := []struct{ name, want, inFolder string }{ // no want: it is read; no inFolder: the same as want
		{"ten", "", ""},
		{"link-to-ten", "", ""},
		{"eleven", "eleven has 11 bytes, at most 10 are read", ""},
		{"folder", "folder is a folder, expected a regular file", ""},
		{"pipe", "pipe is a pipe, expected a regular file", ""},
		{"link-to-pipe", "link-to-pipe is a pipe, expected a regular file", ""},
		{"link-to-device", "link-to-device is a device, expected a regular file", "path escapes from parent"},
		{"socket", "socket: no such device or address", ""},
		{"missing", "missing: no such file or directory", ""},
	}
	for _, c := range cases {
		data, err := Read(filepath.Join(dir, c.name), 10)
		check := func(how string, text string, err error, want string) {
			switch {
			case want == "" && (err != nil || text != "0123456789"):
				t.Errorf("%s of %s: %q, %v", how, c.name, text, err)
			case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want) ||
				!strings.Contains(err.Error(), dir)):
				t.Errorf("%s of %s: %v, want it to end with %q and to name the folder", how, c.name, err, want)
			}
		}
		check("Read", string(data), err, c.want)
		if c.inFolder == "" {
			c.inFolder = c.want
		}
		data, err = fs.ReadFile(root, c.name)
		check("Root.Open", string(data), err, c.inFolder)
	}
}

// TestTheLimitHoldsForWhatGrows: a file can grow after it is opened, and files in /proc
// have the size 0.
func TestTheLimitHoldsForWhatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "growing")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Open(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := os.WriteFile(path, []byte("1234567890a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(file); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("11 bytes were read where 10 are the limit: %v", err)
	}
	if _, err := Read("/proc/self/status", 10); err == nil ||
		!strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("a file without a size was read beyond its limit: %v", err)
	}
}

// TestTheByteOrderMarkIsSkipped once, at the beginning only.
func TestTheByteOrderMarkIsSkipped(t *testing.T) {
	for text, want := range map[string]string{"\ufeffa": "a", "\ufeff": "", "\ufeff\ufeff": "\ufeff",
		"a\ufeff": "a\ufeff", "ab": "ab", "": ""} {
		in := bufio.NewReader(strings.NewReader(text))
		SkipByteOrderMark(in)
		if got, err := io.ReadAll(in); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
