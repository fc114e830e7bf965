package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/record"
)

// TestAnOutputMayBeALink: a file behind a link is checked and replaced in its own folder. In the folder of
// the link, such as /dev/fd, a file may be impossible to create.
func TestAnOutputMayBeALink(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	link := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if err := checkOutput("--json", link); err != nil {
		t.Error(err)
	}
	err = writeFile(link, func(w io.Writer) error {
		_, err := io.WriteString(w, "{}")
		return err
	})
	if text, readErr := os.ReadFile(file.Name()); err != nil || readErr != nil || string(text) != "{}" {
		t.Errorf("the file holds %q (%v, %v)", text, err, readErr)
	}
}

// TestADocumentMayGoToTheFileOfStandardOutput: with --json /dev/stdout >FILE, the file keeps what was printed
// before and after the document.
func TestADocumentMayGoToTheFileOfStandardOutput(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	usual := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = usual }()
	link := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	says := func(text string) func(w io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	list, listErr := newLoadList(link, func(w io.Writer) rowWriter { return listOf{w} })
	if listErr != nil {
		t.Fatal(listErr)
	}
	if set, err := unix.FcntlInt(list.file.Fd(), unix.F_GETFD, 0); err != nil || set&unix.FD_CLOEXEC == 0 {
		t.Errorf("programs that are started inherit the copy of standard output: flags %d, %v", set, err)
	}
	err = errors.Join(checkOutput("--json", link), says("before ")(file), app{out: file}.writeDocument(link,
		says("document ")), writeFile(link, says("another ")), list.write(record.Row{}), list.close(true),
		says("after")(file), file.Close())
	if text, readErr := os.ReadFile(file.Name()); err != nil || readErr != nil ||
		string(text) != "before document another row after" {
		t.Errorf("the file holds %q (%v, %v)", text, err, readErr)
	}
}

// listOf is a rowWriter that writes the same word for every operation.
type listOf struct{ io.Writer }

func (l listOf) Write(record.Row) error {
	_, err := io.WriteString(l.Writer, "row ")
	return err
}

func (l listOf) Flush() error { return nil }
