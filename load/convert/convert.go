package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/load/scenario"
)

// Formats that can be converted.
const (
	HAR     = "har"
	OpenAPI = "openapi" // also Swagger 2
	JMX     = "jmx"
	Curl    = "curl"
	Postman = "postman"
	Log     = "log" // access log
	K6      = "k6"
)

// Limits of the input, in bytes. Recordings contain the answers, too.
const (
	maxRecording = 256 << 20
	maxDocument  = 16 << 20
)

// maxSteps is the number of steps that a flow of a scenario may have.
const maxSteps = 1000

// Conversion is a scenario made from a document, with a list of what it lacks.
type Conversion struct {
	File scenario.File
	// Beside holds the data files of the scenario by name. They must be in its folder.
	Beside map[string][]byte
	// NotConverted lists everything in the input that the scenario lacks or does
	// differently, in the order of the input.
	NotConverted []Note
}

// YAML returns the scenario as a file. Comments at its top list what is missing. from is the name of the
// input.
func (c *Conversion) YAML(from string) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Made from %s by cleave load import. Read it before you play it.\n", oneLine(from))
	if len(c.NotConverted) > 0 {
		fmt.Fprintf(&out, "#\n# Not converted, or different from the original (%d):\n", len(c.NotConverted))
		for _, n := range c.NotConverted {
			fmt.Fprintf(&out, "# - %s\n", n)
		}
	}
	out.WriteByte('\n')
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(c.File), encoder.Close()); err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return out.Bytes(), nil
}

// Note is one thing of the input that the scenario lacks or does differently.
type Note struct {
	Where string // in the input: names of elements, or an operation
	What  string
	Why   string // and what can be done about it
}

// String returns the note on one line, without characters that could control a terminal
// or end a comment.
func (n Note) String() string {
	return oneLine(n.Where + ": " + n.What + ": " + n.Why)
}

// Options answer questions that the input leaves open. The zero value is valid.
type Options struct {
	// Format of the input; empty: Recognize decides.
	Format string
	// Host is the host of a recording to keep, as in its URLs (shop.example.org:8080); empty: the host of
	// the first page.
	Host string
	// NoThink leaves out the pauses of a recording.
	NoThink bool
	// Group is the thread group of a test plan to convert; empty: all groups if their loads agree, otherwise
	// the first one. Of a script of k6 it is the scenario; empty: the first one by name.
	Group string

	beside fs.FS // the folder with the data files of the input; nil: they are not read
}

// read returns a file in or below the input's folder. Files of more than most bytes are an error.
func (o Options) read(name string, most int64) ([]byte, error) {
	if name = path.Clean(name); o.beside == nil || !fs.ValidPath(name) {
		return nil, errors.New("only files in the input's folder are read")
	}
	file, err := o.beside.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return data, err
}

// ReadFile converts a file. It reads data files only from the folder of the file and below.
func ReadFile(path string, options Options) (Conversion, error) {
	data, err := inputfile.Read(path, maxRecording)
	if err != nil {
		return Conversion{}, fmt.Errorf("convert: %w", err)
	}
	return convertIn(filepath.Dir(path), filepath.Base(path), data, options)
}

// Read converts the content of a reader, such as standard input. It reads data files only from the
// working folder and below.
func Read(in io.Reader, options Options) (Conversion, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxRecording+1))
	if err != nil {
		return Conversion{}, fmt.Errorf("convert: %w", err)
	}
	return convertIn(".", "input", data, options)
}

// convertIn converts a document whose data files are in a folder.
func convertIn(dir, name string, data []byte, options Options) (Conversion, error) {
	folder, err := inputfile.Folder(dir, maxData)
	if err != nil {
		return Conversion{}, fmt.Errorf("convert %s: %w", name, err)
	}
	defer func() { _ = folder.Close() }() // only read
	options.beside = folder
	return convert(name, data, options)
}

// convert converts a document. The scenario gets the name of the document. The format is that of the
// options, or else the one that Recognize returns.
func convert(name string, data []byte, options Options) (Conversion, error) {
	format := options.Format
	if format == "" {
		format = Recognize(name, data)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // the byte order mark of editors on Windows
	stem := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if stem = oneLine(stem); stem == "" {
		stem = format
	}
	d := newDraft(stem)
	limit := maxDocument
	if format == HAR || format == Log {
		limit = maxRecording
	}
	if len(data) > limit {
		return Conversion{}, fmt.Errorf("convert %s: more than %d bytes: split it or shorten the recording", name,
			limit)
	}
	var err error
	switch format {
	case HAR:
		err = d.har(data, options)
	case OpenAPI:
		err = d.openAPI(data)
	case JMX:
		err = d.jmx(data, options)
	case Curl:
		err = d.curl(data, options)
	case Postman:
		err = d.postman(data, options)
	case Log:
		err = d.accessLog(data)
	case K6:
		err = d.k6(data, options)
	default:
		err = errors.New("neither a HAR recording, an OpenAPI description, a JMeter test plan, curl commands, a " +
			"Postman collection, an access log nor a script of k6; if it is one, say which with --format")
	}
	if err != nil {
		return Conversion{}, fmt.Errorf("convert %s: %w", name, err)
	}
	d.pruneValues()
	d.hoistHeaders()
	return Conversion{File: d.file, Beside: d.beside, NotConverted: d.notes}, nil
}

// descriptionKey matches the key in YAML that holds the version of an API description.
var descriptionKey = regexp.MustCompile(`(?m)^(---[ \t]+)?(\{[ \t]*)?["']?(openapi|swagger)["']?[ \t]*:`)

// curlCommand matches a line with a curl command.
var curlCommand = regexp.MustCompile(`(?m)(^|[;&|])[ \t]*(\S*/)?curl[ \t]`)

// Recognize returns the format of a document by the ending of its name, or else by its beginning, its
// topmost keys, an import of a module of k6, a line with a curl command, or a first line as in an access log.
// It returns "" for an unknown format.
func Recognize(name string, data []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".har":
		return HAR
	case ".jmx":
		return JMX
	}
	head := bytes.TrimLeft(data, "\ufeff \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("<")) && bytes.Contains(head, []byte("<jmeterTestPlan")):
		return JMX
	case gjson.GetBytes(head, "log").IsObject():
		return HAR
	case strings.Contains(gjson.GetBytes(head, "info.schema").String(), "getpostman.com/json/collection"):
		return Postman
	case gjson.GetBytes(head, "openapi").Exists(), gjson.GetBytes(head, "swagger").Exists(),
		descriptionKey.Match(head):
		return OpenAPI
	case k6Module.Match(head):
		return K6
	case curlCommand.Match(head):
		return Curl
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if _, isLog := readLine(line); isLog {
		return Log
	}
	return ""
}

// draft is a conversion in progress.
type draft struct {
	file   scenario.File
	beside map[string][]byte
	notes  []Note
	noted  map[Note]bool   // the notes; true: about a request that the scenario lacks
	found  []*recorded     // requests for a flow, in order
	taken  map[string]int  // names of values, data and extractions that are in use, with the last suffix of each
	refs   map[string]bool // names of values to which texts may refer
}

func newDraft(name string) *draft {
	return &draft{
		file:   scenario.File{Schema: scenario.Schema, Name: name},
		beside: map[string][]byte{},
		noted:  map[Note]bool{},
		taken:  map[string]int{},
		refs:   map[string]bool{},
	}
}

// note adds a note, unless the same one exists.
func (d *draft) note(where, what, why string) {
	n := Note{Where: where, What: what, Why: why}
	if _, known := d.noted[n]; !known {
		d.notes = append(d.notes, n)
		d.noted[n] = false
	}
}

// lose adds a note about a request that the scenario lacks.
func (d *draft) lose(where, what, why string) {
	d.note(where, what, why)
	d.noted[Note{Where: where, What: what, Why: why}] = true
}

// parseJSON parses a JSON document, whose texts may hold bytes that are not UTF-8. gjson reads anything, so
// encoding/json checks the document first.
func parseJSON(data []byte) (gjson.Result, error) {
	var valid json.RawMessage
	if err := json.Unmarshal(data, &valid); err != nil {
		return gjson.Result{}, err
	}
	return gjson.ParseBytes(bytes.ToValidUTF8(data, []byte("\ufffd"))), nil
}

// reasons lists the first notes for an error message, beginning with those about missing requests.
func (d *draft) reasons() string {
	const most = 12
	var notes, others []Note
	for _, n := range d.notes {
		if d.noted[n] {
			notes = append(notes, n)
		} else {
			others = append(others, n)
		}
	}
	notes = append(notes, others...)
	var text strings.Builder
	for _, n := range notes[:min(most, len(notes))] {
		text.WriteString("\n- " + n.String())
	}
	if more := len(notes) - most; more > 0 {
		fmt.Fprintf(&text, "\n- and %d more", more)
	}
	return text.String()
}

// name returns an unused name for a value, data or an extraction: the preferred one, if possible.
func (d *draft) name(preferred string) string {
	first := identifier(preferred)
	name := first
	for d.taken[name] > 0 {
		d.taken[first]++
		name = fmt.Sprintf("%s_%d", first, d.taken[first])
	}
	d.taken[name] = 1
	return name
}

// newValue adds a generated value and returns its name, which is the preferred one if possible.
func (d *draft) newValue(preferred string, v scenario.Value) string {
	name := d.name(preferred)
	d.file.Values = with(d.file.Values, name, v)
	return name
}

// value adds a generated value and returns a reference to it, such as ${name}.
func (d *draft) value(preferred string, v scenario.Value) string {
	return "${" + d.newValue(preferred, v) + "}"
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// with adds to a map, which may be nil, and returns it.
func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// pruneValues removes generated values that no step uses, such as those of steps that were not converted.
func (d *draft) pruneValues() {
	flows, err := json.Marshal(d.file.Flows)
	if err != nil {
		return // the unused values are not known
	}
	maps.DeleteFunc(d.file.Values, func(name string, _ scenario.Value) bool {
		return !strings.Contains(string(flows), "${"+name+"}")
	})
}
