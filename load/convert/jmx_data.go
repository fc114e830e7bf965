package convert

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// maxData is the size of the largest data file that is read or written, in bytes.
const maxData = 64 << 20

// variables converts all elements that set variables, except extractors, wherever they stand. JMeter sets
// user-defined variables before a test begins, the others for their scope.
func (p *testPlan) variables(root *element) {
	root.walk(func(e *element) bool {
		_, _, once := playsOnce(e.class)
		repeats := isController(e.class) && !once
		if !e.enabled || e.skipped || repeats {
			return false
		}
		switch e.class {
		case "TestPlan":
			// The variables may be in Arguments.arguments, or directly in the setting.
			p.userDefined(e.find("TestPlan.user_defined_variables").collection("Arguments.arguments"))
			p.userDefined(e.collection("TestPlan.user_defined_variables"))
		case "Arguments":
			p.userDefined(e.collection("Arguments.arguments"))
		case "CSVDataSet":
			p.dataSet(e)
		case "CounterConfig":
			p.setValue(e, e.text("CounterConfig.name"),
				scenario.Value{Sequence: new(int64(p.number(e, "CounterConfig.start", 0)))})
		case "RandomVariableConfig":
			from := int64(p.number(e, "minimumValue", 1))
			to := int64(p.number(e, "maximumValue", 1))
			p.setValue(e, e.text("variableName"),
				scenario.Value{Integer: &scenario.Range{From: min(from, to), To: max(from, to)}})
		default:
			return true
		}
		e.reached = true
		return true
	})
}

// userDefined keeps user-defined constants; the last definition of a name counts, as in JMeter.
func (p *testPlan) userDefined(arguments []*property) {
	for _, a := range arguments {
		if a.kind == "elementProp" {
			a.used = true
			p.constants[a.text("Argument.name")] = a.text("Argument.value")
		}
	}
}

// setValue adds a generated value for a variable.
func (p *testPlan) setValue(e *element, variable string, v scenario.Value) {
	if variable == "" {
		p.note(e.where(), e.class+" without a variable", "nothing can use it")
		return
	}
	e.parent.setVariable(variable, p.newValue(variable, v))
}

// dataSet converts a CSV Data Set Config.
func (p *testPlan) dataSet(e *element) {
	written := e.text("filename")
	file, isConstant := p.constant(e, written)
	file = strings.ReplaceAll(file, `\`, "/")
	delimiter := cmp.Or(e.text("delimiter"), ",")
	var columns []string
	for column := range strings.SplitSeq(e.text("variableNames"), ",") {
		if column = strings.TrimSpace(column); column != "" {
			columns = append(columns, column)
		}
	}
	skipFirst := e.truth("ignoreFirstLine") || len(columns) == 0
	if e.text("recycle") == "false" {
		p.note(e.where(), "rows are used once", "data begins again at its end")
	}
	if !isConstant || file == "" {
		p.note(e.where(), "data file "+written, "its name is not known beforehand")
		return
	}
	name := p.name(strings.TrimSuffix(path.Base(file), path.Ext(file)))
	csvName := identifier(p.file.Name) + "-" + name + ".csv"
	if csvName == path.Base(file) { // the original may be in the same folder
		csvName = strings.TrimSuffix(csvName, ".csv") + "-rows.csv"
	}
	rows, err := p.readData(file, e.text("fileEncoding"), delimiter, e.truth("quotedData"))
	if skipFirst && len(rows) > 0 {
		if len(columns) == 0 {
			columns = rows[0]
		}
		rows = rows[1:]
	}
	if err == nil && len(rows) == 0 {
		err = errors.New("it has no rows")
	}
	if err != nil {
		header := "a first line of column names"
		if len(columns) > 0 {
			header += ": " + strings.Join(safeNames(columns), ",")
		}
		why := fmt.Sprintf("not copied (%v): put it beside the scenario as %s, with commas and %s", err,
			csvName, header)
		p.note(e.where(), "data file "+file, why)
	} else {
		p.beside[csvName] = csvOf(columns, rows)
	}
	for i, column := range safeNames(columns) {
		e.parent.setVariable(columns[i], name+"."+column)
	}
	p.file.Data = with(p.file.Data, name, scenario.Data{CSV: csvName})
}

// csvOf returns a CSV file with a line of column names.
func csvOf(columns []string, rows [][]string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(safeNames(columns)) // a buffer does not fail
	for _, row := range rows {
		full := slices.Concat(row, make([]string, len(columns))) // a row may be too short
		_ = w.Write(full[:len(columns)])
	}
	w.Flush()
	return out.Bytes()
}

// readData reads a data file from the folder of the test plan.
func (p *testPlan) readData(name, encoding, delimiter string, quoted bool) ([][]string, error) {
	data, err := p.options.read(name, maxData)
	if err != nil {
		return nil, err
	}
	text, err := decoded(cmp.Or(encoding, "UTF-8"), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(text)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if delimiter == `\t` {
		delimiter = "\t"
	}
	if !quoted { // quotes have no meaning
		var rows [][]string
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				rows = append(rows, strings.Split(line, delimiter))
			}
		}
		return rows, nil
	}
	if len([]rune(delimiter)) != 1 {
		return nil, fmt.Errorf("delimiter %q is not one character", delimiter)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = []rune(delimiter)[0]
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	return r.ReadAll()
}

// safeNames makes names of values from column names, all different.
func safeNames(columns []string) []string {
	var names []string
	for _, column := range columns {
		name := identifier(column)
		for i := 2; slices.Contains(names, name); i++ {
			name = fmt.Sprintf("%s_%d", identifier(column), i)
		}
		names = append(names, name)
	}
	return names
}
