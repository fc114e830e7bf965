package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unique"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/inputfile"
)

const (
	// maxFile is the size of the largest file that is read, in bytes.
	maxFile = 512 << 20
	// maxSpans is the largest number of spans of a set.
	maxSpans = 4_000_000
	// maxName is the length of the kept part of the name of a span, a service or a component, in bytes.
	maxName = 200
	// maxDropped is a number of dropped spans that cannot be true.
	maxDropped = 1e12
)

// Span is a span as a file or an export contains it.
type Span struct {
	spans.Record
	Failed    bool   // its status is an error
	Follows   bool   // its caller does not wait for it, though it is no message: Jaeger's FOLLOWS_FROM
	Component string // the part of the service, by the attribute that the caller of Read names
	Peer      string // the service that a client's span calls, also the end of Name; "": unknown
}

// Set holds the spans of files, or those that were received in a trial.
type Set struct {
	Spans []Span
	Files int
	// Dropped is the number of dropped spans that the files report, or that the receiver had no room for.
	Dropped int

	component string
}

// ErrNone is wrapped by the error of Read if the files hold no spans.
var ErrNone = errors.New("no spans")

// Read reads the spans of a file, or of all files of a folder whose names end in .json, .jsonl or
// .ndjson. The content tells the format: OTLP, or an answer of Tempo, Jaeger or Zipkin, as one JSON
// document or one per line. component is the attribute of spans that names a component of a service; "":
// there is none.
func Read(path, component string) (Set, error) {
	files, err := filesAt(path)
	if err != nil {
		return Set{}, err
	}
	set := Set{Files: len(files), component: component}
	for _, name := range files {
		if err := set.readFile(name); err != nil {
			return Set{}, fmt.Errorf("read the spans of %s: %w", name, err)
		}
	}
	if len(set.Spans) == 0 {
		return Set{}, fmt.Errorf("%s has %w", path, ErrNone)
	}
	return set, nil
}

// filesAt returns the files with spans at a path.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, ending := range []string{"*.json", "*.jsonl", "*.ndjson"} {
		found, err := fs.Glob(os.DirFS(path), ending) // the folder's name must not be used as a pattern
		if err != nil {
			return nil, fmt.Errorf("look for spans in %s: %w", path, err)
		}
		for _, name := range found {
			files = append(files, filepath.Join(path, name))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder %s has no file that ends in .json, .jsonl or .ndjson", path)
	}
	slices.Sort(files)
	return files, nil
}

// readFile adds the spans of a file.
func (s *Set) readFile(name string) error {
	file, err := inputfile.Open(name, maxFile)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	return s.readFrom(file)
}

// readFrom adds the spans of a stream of JSON documents.
func (s *Set) readFrom(r io.Reader) error {
	documents := json.NewDecoder(r)
	for n := 1; ; n++ {
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: it is no JSON: %w", n, err)
		}
		read, dropped, err := readDocument(document, s.component)
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		s.Dropped += dropped
		if s.Spans = append(s.Spans, read...); len(s.Spans) > maxSpans {
			return fmt.Errorf("more than %d spans: take a shorter time, or sample fewer operations", maxSpans)
		}
	}
}

// readDocument reads a document, whose members tell the format. dropped is the number of dropped spans
// that it reports.
func readDocument(document []byte, component string) (all []Span, dropped int, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(document), []byte("[")) {
		all, err = readZipkin(document, component)
		return all, 0, err
	}
	var members struct {
		ResourceSpans, Batches, Trace, Result, Data json.RawMessage
	}
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, 0, errors.New("it is neither an object nor a list: expected OTLP, Tempo, Jaeger or Zipkin")
	}
	switch {
	case members.ResourceSpans != nil: // OTLP, as the collector's file exporter writes it
		return readOTLP(document, component)
	case members.Batches != nil: // Tempo's /api/traces/ID
		asOTLP := slices.Concat([]byte(`{"resourceSpans":`), members.Batches, []byte("}"))
		return readOTLP(asOTLP, component)
	case members.Trace != nil: // Tempo's /api/v2/traces/ID
		return readOTLP(members.Trace, component)
	case members.Result != nil: // Jaeger's /api/v3/traces
		return readOTLP(members.Result, component)
	case members.Data != nil: // Jaeger's /api/traces, and downloads of its user interface
		all, err = readJaeger(document, component)
		return all, 0, err
	}
	return nil, 0, errors.New(`it has none of the members "resourceSpans" (OTLP), "batches" or "trace" ` +
		`(Tempo), "result" or "data" (Jaeger)`)
}

// attributes is a function that returns the value of an attribute of a span, or "".
type attributes func(key string) string

// newSpan returns a span from a record that holds IDs, times, the service and the role. The name of a
// client's span ends with the service that it calls. component is the attribute that names a component.
func newSpan(record spans.Record, name, peer, component string, attribute attributes) Span {
	if record.Role != trace.SpanKindClient {
		peer = ""
	}
	if peer != "" {
		peer = cut(peer, maxName/2)
		name = cut(name, maxName-len(" to "+peer)) + " to " + peer
	}
	record.Unit = shared(record.Unit)
	record.Name = shared(name)
	record.Kind = kindOf(record.Role, attribute)
	return Span{Record: record, Component: shared(attribute(component)), Peer: shared(peer)}
}

// shared returns one copy of a text for all spans, cut to the kept length.
func shared(text string) string { return unique.Make(cut(text, maxName)).Value() }

// cut returns the beginning of a text, with at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") // the cut may be within a character
}
