package observation

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Observations hold the notes of all units of a trial. Moments are nanoseconds
// since 1970.
type Observations struct {
	// Finals are the moments at which orders became final, by the order's id.
	Finals map[string]int64
	// Showings are the times at which read models showed changes. Of repeated changes the
	// first counts.
	Showings map[Change]Showing
}

// Change is a version of a document.
type Change struct {
	Document string
	Version  int64
}

// Showing holds the times at which a change was made and the document showed it.
type Showing struct{ Made, Shown int64 }

// Read reads the files of all units in one folder.
func Read(dir string) (Observations, error) {
	o := Observations{Finals: map[string]int64{}, Showings: map[Change]Showing{}}
	names, err := fs.Glob(os.DirFS(dir), "*"+extension)
	if err != nil {
		return o, fmt.Errorf("look for observations: %w", err)
	}
	for _, name := range names {
		if err := o.read(filepath.Join(dir, name)); err != nil {
			return o, fmt.Errorf("read observations: %w", err)
		}
	}
	return o, nil
}

func (o *Observations) read(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 0 {
			o.take(words)
		}
	}
	return lines.Err()
}

// take adds a line. It ignores a torn one: a unit was killed while it wrote that.
func (o *Observations) take(words []string) {
	last, whole := moment(words[len(words)-1])
	if !whole {
		return
	}
	switch kind := words[0]; {
	case kind == final && len(words) == 3:
		if known, twice := o.Finals[words[1]]; !twice || last < known {
			o.Finals[words[1]] = last
		}
	case kind == shown && len(words) == 5:
		version, err := strconv.ParseInt(words[2], 10, 64)
		made, whole := moment(words[3])
		if err != nil || !whole {
			return
		}
		change := Change{words[1], version}
		if known, twice := o.Showings[change]; !twice || last < known.Shown {
			o.Showings[change] = Showing{made, last}
		}
	}
}

// digits is the number of digits of a moment between 2001 and 2286. A torn one has fewer.
const digits = 19

// moment reads a moment, and reports whether it is whole.
func moment(word string) (int64, bool) {
	if len(word) != digits {
		return 0, false
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return n, err == nil
}
