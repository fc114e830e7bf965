package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/yamlfile"
)

// namePattern matches the names of values, data and extractions.
var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// scope holds the names that a step may use, and notes the ones that its flow uses.
type scope struct {
	*compiler
	flow      *Flow
	extracted map[string]bool
	used      map[int]bool        // values by index
	columns   map[int]map[int]int // data by index: slot by column
}

// find is the lookup for the templates of a flow.
func (s *scope) find(name string) (slot int, of kind, err error) {
	if index, found := s.values[name]; found {
		s.used[index] = true
		return s.slot(name), kindOf(s.file.Values[name]), nil
	}
	if s.extracted[name] {
		return s.slot(name), anyText, nil
	}
	if table, column, found := strings.Cut(name, "."); found {
		if index, found := s.data[table]; found {
			slot, err := s.column(index, column, name)
			return slot, anyText, err
		}
	}
	return 0, anyText, s.unknown(name)
}

// column returns the slot of a column and notes its use.
func (s *scope) column(index int, column, name string) (slot int, err error) {
	table := s.plan.data[index]
	at, found := table.columns[column]
	if table.columns == nil { // reading the file has failed, which is an error already
		return 0, nil
	}
	if !found {
		known := slices.Sorted(maps.Keys(table.columns))
		return 0, fmt.Errorf("${%s}: %s has no column %q%s; it has %s", name, table.name, column,
			yamlfile.Suggest(column, known), strings.Join(known, ", "))
	}
	if s.columns[index] == nil {
		s.columns[index] = map[int]int{}
	}
	s.columns[index][at] = s.slot(name)
	return s.columns[index][at], nil
}

// unknown returns the error for an unknown name.
func (s *scope) unknown(name string) error {
	for i, step := range s.flow.Steps {
		if _, found := step.Extract[name]; found {
			return fmt.Errorf("${%s} is used before step %d extracts it", name, i+1)
		}
	}
	known := slices.Collect(maps.Keys(s.values))
	known = slices.AppendSeq(known, maps.Keys(s.extracted))
	for data := range s.data {
		known = append(known, data+".COLUMN")
	}
	slices.Sort(known)
	if len(known) == 0 {
		return fmt.Errorf("${%s} stands for nothing: the flow has no values, data or extractions; write $${ for "+
			"a plain ${", name)
	}
	return fmt.Errorf("${%s} stands for nothing%s: there are %s; write $${ for a plain ${", name,
		yamlfile.Suggest(name, known), strings.Join(known, ", "))
}
