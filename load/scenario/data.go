package scenario

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
)

// Limits of a data file.
const (
	maxDataBytes = 64 << 20
	maxRows      = 1_000_000
	maxColumns   = 1000
)

// Orders of rows.
const (
	sequential = "sequential"
	random     = "random"
)

// table holds the rows of data.
type table struct {
	name    string
	columns map[string]int // nil if the file could not be read
	rows    [][]value
	random  bool
}

// rows is the position of one player in a table.
type rows struct {
	table      *table
	next, step int64
}

// take returns the player's next row. All players together take all rows in order, each row equally
// often.
func (r *rows) take(random *rand.Rand) []value {
	if r.table.random {
		return r.table.rows[random.IntN(len(r.table.rows))]
	}
	row := r.table.rows[r.next%int64(len(r.table.rows))]
	r.next += r.step
	return row
}

// readData reads the data files of the scenario.
func (c *compiler) readData() {
	c.data = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.file.Data)) {
		place, d := "data."+name, c.file.Data[name]
		c.checkName(place, name)
		if _, found := c.values[name]; found {
			c.problem(place, "%s is the name of a value already", name)
		}
		t := &table{name: name, random: d.Order == random}
		if !slices.Contains([]string{"", sequential, random}, d.Order) {
			c.problem(place, "data %s: order %q: use %s or %s", name, d.Order, sequential, random)
		}
		if err := t.read(c.folder, d); err != nil {
			c.problem(place, "data %s: %v", name, err)
			t.columns = nil
		}
		c.data[name] = len(c.plan.data)
		c.plan.data = append(c.plan.data, t)
	}
	if len(c.data) > maxNames {
		c.problem("data", "%d data files, at most %d are allowed", len(c.data), maxNames)
	}
}

// read reads the file, which must be in the folder: a foreign scenario must not send other files of this
// host away.
func (t *table) read(folder string, d Data) (err error) {
	if (d.CSV == "") == (d.JSONL == "") {
		return errors.New("give either csv or jsonl, the name of a file")
	}
	name := d.CSV + d.JSONL
	if !filepath.IsLocal(name) {
		return fmt.Errorf("file %q: it must be in the folder of the scenario", name)
	}
	root, err := inputfile.Folder(folder, maxDataBytes)
	if err != nil {
		return fmt.Errorf("open the folder of %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text := bufio.NewReader(file)
	inputfile.SkipByteOrderMark(text)
	if d.CSV != "" {
		err = t.readCSV(text)
	} else {
		err = t.readLines(text)
	}
	if err == nil && len(t.rows) == 0 {
		err = errors.New("there are no rows")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// readCSV reads a header line, whose names may have spaces around them, and rows (RFC 4180).
func (t *table) readCSV(input io.Reader) error {
	reader := csv.NewReader(input)
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty, expected a line with the names of the columns")
	}
	if err != nil {
		return err
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
	}
	if err := t.setColumns(header); err != nil {
		return err
	}
	for len(t.rows) <= maxRows {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		row := make([]value, len(record))
		for i, text := range record {
			row[i].text = []byte(text)
		}
		t.rows = append(t.rows, row)
	}
	return fmt.Errorf("more than %d rows", maxRows)
}

// setColumns sets the names of the columns.
func (t *table) setColumns(names []string) error {
	if len(names) > maxColumns {
		return fmt.Errorf("%d columns, at most %d are allowed", len(names), maxColumns)
	}
	t.columns = make(map[string]int, len(names))
	for i, name := range names {
		if _, twice := t.columns[name]; twice {
			return fmt.Errorf("there are two columns %q", name)
		}
		t.columns[name] = i
	}
	return nil
}

// readLines reads one JSON object per line. All must have the keys of the first.
func (t *table) readLines(input io.Reader) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, maxLength)
	line := 1
	for ; lines.Scan(); line++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
			return fmt.Errorf("line %d is no JSON object: %w", line, err)
		}
		if t.columns == nil {
			if err := t.setColumns(slices.Sorted(maps.Keys(object))); err != nil {
				return err
			}
		}
		if err := t.addObject(object); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes, the limit of a row", line, maxLength)
	}
	return lines.Err()
}

// addObject adds a row: the values of an object for the columns.
func (t *table) addObject(object map[string]json.RawMessage) error {
	row := make([]value, len(t.columns))
	for key, at := range t.columns {
		raw, found := object[key]
		if !found {
			return fmt.Errorf("it has no %q, which the first line has", key)
		}
		row[at] = value{text: raw, bare: true}
		var text string
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			row[at] = value{text: []byte(text)}
		}
	}
	if t.rows = append(t.rows, row); len(t.rows) > maxRows {
		return fmt.Errorf("more than %d rows", maxRows)
	}
	return nil
}
