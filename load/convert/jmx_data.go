package convert

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// maxData is how much of a data file is read, in bytes.
const maxData = 64 << 20

// variables finds everything that sets variables, wherever it stands: JMeter
// sets user-defined ones before a test begins, the others for their scope.
func (p *testPlan) variables(root *element) {
	root.walk(func(e *element) bool {
		if _, _, once := playsOnce(e.class); !e.enabled || e.told || isController(e.class) && !once {
			return false
		}
		switch e.class {
		case "TestPlan":
			e.reached = true
			p.userDefined(collection(e.collection("TestPlan.user_defined_variables"), "Arguments.arguments"))
			p.userDefined(collection(e.props, "TestPlan.user_defined_variables"))
		case "Arguments":
			e.reached = true
			p.userDefined(e.collection("Arguments.arguments"))
		case "CSVDataSet":
			p.dataSet(e)
		case "CounterConfig":
			p.counter(e)
		case "RandomVariableConfig":
			p.randomVariable(e)
		case "RegexExtractor", "JSONPostProcessor":
			for _, f := range p.extractor(e) {
				if _, known := e.group().vars[f.variable]; !known {
					e.group().setVariable(f.variable, p.name(f.variable))
				}
			}
		}
		return true
	})
}

// userDefined takes constants; the last definition counts, as in JMeter.
func (p *testPlan) userDefined(arguments []*property) {
	for _, a := range arguments {
		if a.kind != "elementProp" {
			continue
		}
		a.used = true
		p.constants[text(a.sub, "Argument.name")] = text(a.sub, "Argument.value")
	}
}

// counter maps a Counter.
func (p *testPlan) counter(e *element) {
	e.reached = true
	variable := e.text("CounterConfig.name")
	p.setValue(e, variable, scenario.Value{Sequence: new(int64(p.number(e, "CounterConfig.start", 0)))})
}

// randomVariable maps a Random Variable.
func (p *testPlan) randomVariable(e *element) {
	e.reached = true
	variable := e.text("variableName")
	from, to := p.number(e, "minimumValue", 1), p.number(e, "maximumValue", 1)
	p.setValue(e, variable, scenario.Value{Integer: &scenario.Range{From: int64(min(from, to)),
		To: int64(max(from, to))}})
}

// setValue adds a value under the name of a variable.
func (p *testPlan) setValue(e *element, variable string, v scenario.Value) {
	if variable == "" {
		p.note(e.where(), e.class+" without a variable", "nothing can use it")
		return
	}
	reference := p.value(variable, v)
	e.parent.setVariable(variable, reference[len("${"):len(reference)-len("}")])
}

// dataSet maps a CSV Data Set Config.
func (p *testPlan) dataSet(e *element) {
	e.reached = true
	written := e.text("filename")
	file, isConstant := p.constant(e, written)
	file = strings.ReplaceAll(file, `\`, "/")
	delimiter, columns := e.text("delimiter"), splitNames(e.text("variableNames"))
	skipFirst := e.truth("ignoreFirstLine") && len(columns) > 0
	if delimiter == "" {
		delimiter = ","
	}
	if e.text("recycle") == "false" {
		p.note(e.where(), "rows are used once", "data begins again at its end")
	}
	if !isConstant || file == "" {
		p.note(e.where(), "data file "+written, "its name is not known beforehand")
		return
	}
	name := p.name(strings.TrimSuffix(path.Base(file), path.Ext(file)))
	rows, err := p.readData(file, e.text("fileEncoding"), delimiter, e.truth("quotedData"))
	if err != nil {
		p.note(e.where(), "data file "+file, fmt.Sprintf("not read (%v): put it beside the scenario as %s, with "+
			"commas and a first line of column names: %s",
			err, dataFile(p.file.Name, name, path.Base(file)), strings.Join(safeNames(columns), ",")))
	}
	if len(rows) > 0 && (len(columns) == 0 || skipFirst) {
		if len(columns) == 0 {
			columns = rows[0]
		}
		rows = rows[1:]
	}
	for i, column := range safeNames(columns) {
		e.parent.setVariable(columns[i], name+"."+column)
	}
	p.addData(name, columns, rows, path.Base(file))
}

// addData adds the data and, where its rows are known, its file: under a name of
// its own, since it differs from the original.
func (p *testPlan) addData(name string, columns []string, rows [][]string, original string) {
	if p.file.Data == nil {
		p.file.Data = map[string]scenario.Data{}
	}
	file := dataFile(p.file.Name, name, original)
	p.file.Data[name] = scenario.Data{CSV: file}
	if len(rows) == 0 || len(columns) == 0 {
		return
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(safeNames(columns)) // a buffer takes everything
	for _, row := range rows {
		full := slices.Grow(slices.Clone(row), len(columns))[:max(len(row), len(columns))]
		_ = w.Write(full[:len(columns)])
	}
	w.Flush()
	p.beside[file] = out.Bytes()
}

// dataFile names the file for data: never as the original, which may stand in
// the same folder.
func dataFile(scenario, data, original string) string {
	file := identifier(scenario) + "-" + data + ".csv"
	if file == original {
		return identifier(scenario) + "-" + data + "-rows.csv"
	}
	return file
}

// readData reads a data file from the folder of the test plan.
func (p *testPlan) readData(name, encoding, delimiter string, quoted bool) ([][]string, error) {
	if p.options.Beside == nil || !fs.ValidPath(name) {
		return nil, errors.New("only files in the test plan's folder are read")
	}
	file, err := p.options.Beside.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	text, err := decoded(cmp.Or(encoding, "UTF-8"), file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(text)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if delimiter == `\t` {
		delimiter = "\t"
	}
	if !quoted {
		return plainRows(string(data), delimiter), nil
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

// plainRows splits rows in which quotes mean nothing.
func plainRows(data, delimiter string) [][]string {
	var rows [][]string
	for line := range strings.Lines(data) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			rows = append(rows, strings.Split(line, delimiter))
		}
	}
	return rows
}

// splitNames takes a list of variables apart.
func splitNames(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// safeNames makes names of columns, each once.
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
