package convert

import (
	"cmp"
	_ "embed" // for k6.js
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Limits of a script.
const (
	maxScript      = 256 << 10       // bytes of the script, and of each of its modules
	maxScriptTime  = 5 * time.Second // for running it
	maxScriptHeap  = 512 << 20       // bytes that it may allocate in all
	maxScriptCalls = 1000            // depth of calls
)

// k6Source is the script that implements k6's modules: see k6.js.
//
//go:embed k6.js
var k6Source string

// k6Module matches a script that uses k6.
var k6Module = regexp.MustCompile(`(?m)(^|;)\s*import\b[^;]*?['"]k6(/|['"])`)

// k6Request is a request that a script sends in one iteration.
type k6Request struct {
	Method, URL, Body, Name, Group string
	Form, Files                    bool // the body was given as fields, or contains files
	Headers                        [][2]string
	Cookies                        []string // their names
	Takes                          []k6Take
	Statuses                       []int // that its checks accept
	Texts                          []k6Text
	Sleep                          float64 // pause after it, in seconds
}

// k6Text is a text that the checks of a script want in a header; "": in the body.
type k6Text struct{ Header, Text string }

// k6Take is a value that a script extracts from an answer.
type k6Take struct{ Name, Kind, Path string }

// k6State is the state that k6.js records.
type k6State struct {
	Requests []k6Request
	Values   []struct {
		Name, Kind string
		From, To   float64
	}
	Notes []struct{ What, Why string }
}

// k6 runs one iteration of a script with modules that record what it would send, and converts the records
// to steps.
func (d *draft) k6(data []byte, options Options) error {
	s := &script{options: options, vm: sobek.New(), modules: map[string]sobek.ModuleRecord{}}
	if err := s.bounded(func() error { return s.run(string(data)) }); err != nil {
		return fmt.Errorf("run the script: %s", oneLine(err.Error()))
	}
	names := map[string]string{} // references to values, by the mark that stands for the value in the script
	for _, v := range s.state.Values {
		from := int64(min(v.From, v.To))
		to := int64(max(v.From, v.To))
		value := scenario.Value{Integer: &scenario.Range{From: from, To: to}}
		switch v.Kind {
		case "uuid":
			value = scenario.Value{UUID: &struct{}{}}
		case "text":
			value = scenario.Value{Text: &scenario.Text{Length: max(1, int(min(v.To, maxText)))}}
		}
		names[v.Name] = d.reference(d.newValue(v.Kind, value))
	}
	for i, q := range s.state.Requests {
		d.k6Request(i+1, q, names)
	}
	if s.random {
		d.note("script", "Math.random", "0.5 whenever it is asked: what the script makes of it is the same in "+
			"every flow")
	}
	for _, n := range s.state.Notes {
		d.note("script", n.What, n.Why)
	}
	if err := d.flow("script", cmp.Or(s.settings.chosen, "default"), options); err != nil {
		return err
	}
	d.k6Load(s.settings)
	return nil
}

// envReference matches the placeholder of a variable of the script's environment, which may be secret.
var envReference = regexp.MustCompile("\ue000(env:[A-Za-z_][A-Za-z0-9_]*)\ue001")

// afterServer matches a value of an answer directly after scheme and host.
var afterServer = regexp.MustCompile("^(https?://[^/\ue000]+)\ue000")

// k6Request adds a request of a script to the flow, or lists it.
func (d *draft) k6Request(number int, q k6Request, names map[string]string) {
	where := "request " + strconv.Itoa(number)
	if q.Group != "" {
		where = q.Group + " > " + where
	}
	var marks []string // pairs of a mark and its reference
	for mark, reference := range names {
		marks = append(marks, mark, reference)
	}
	known := strings.NewReplacer(marks...)
	text := func(text string) string {
		text = known.Replace(restoreReferences(text))
		for _, at := range envReference.FindAllStringSubmatch(text, -1) {
			d.reference(at[1])
		}
		return text
	}
	pause := min(max(q.Sleep, 0), 86400) // seconds
	r := &recorded{where: where, name: q.Name, method: q.Method, address: text(q.URL), body: text(q.Body),
		cookies: q.Cookies, think: time.Duration(pause * float64(time.Second))}
	r.address = afterServer.ReplaceAllString(r.address, "$1/\ue000")
	if strings.HasPrefix(r.address, "\ue000") { // the whole address comes from an answer
		server := unknownTarget
		if n := len(d.found); n > 0 {
			server = d.found[n-1].origin()
		}
		r.address = server + "/" + r.address
	}
	if rest, found := strings.CutPrefix(r.address, "undefined/"); found {
		d.note("script", "the server of its requests", "a variable of its environment: give it with --target")
		r.address = unknownTarget + "/" + rest
	}
	if q.Form {
		r.mimeType = formType
	}
	for _, h := range q.Headers {
		r.headers = append(r.headers, field{h[0], text(h[1])})
	}
	reason := r.parse()
	if q.Files {
		reason = "uploads a file; write the request as a step with its body"
	}
	for _, t := range q.Takes {
		d.take(where, r, t, names)
	}
	var statuses []string
	for _, status := range q.Statuses {
		statuses = append(statuses, strconv.Itoa(status))
	}
	r.expect = scenario.Expect{Status: strings.Join(statuses, ", ")}
	for _, t := range q.Texts {
		r.texts = append(r.texts, field{t.Header, text(t.Text)})
	}
	d.keep(r, reason)
}

// take adds an extraction for a value that a script extracts from an answer.
func (d *draft) take(where string, r *recorded, t k6Take, names map[string]string) {
	how := scenario.Extraction{JSON: t.Path}
	switch {
	case t.Kind == "header" && t.Path != "":
		how = scenario.Extraction{Header: t.Path}
	case t.Kind == "body" && t.Path == "":
		how = scenario.Extraction{Regexp: "(?s)^.*$"}
	case t.Kind != "json" || t.Path == "":
		d.note(where, "the value "+t.Kind+" "+t.Path+" of its answer",
			"only values of JSON, headers and bodies are taken")
		names[t.Name] = "unknown"
		return
	}
	name := d.name(t.Path[strings.LastIndexByte(t.Path, '.')+1:])
	names[t.Name] = d.reference(name)
	r.extract = with(r.extract, name, how)
}

// script is a script while it runs.
type script struct {
	options  Options
	vm       *sobek.Runtime
	modules  map[string]sobek.ModuleRecord
	state    k6State
	settings k6Options
	random   bool // it has drawn a random number
}

// bounded runs a script and interrupts it if it takes too long or too much memory. A script that does not
// stop even then is abandoned.
func (s *script) bounded(run func() error) error {
	s.vm.SetMaxCallStackSize(maxScriptCalls)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("it cannot be run: %.200v", p)
			}
		}()
		done <- run()
	}()
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(heap)
	before := heap[0].Value.Uint64()
	deadline := time.Now().Add(maxScriptTime)
	watch := time.NewTicker(5 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-watch.C:
		}
		metrics.Read(heap)
		reason := ""
		switch {
		case heap[0].Value.Uint64()-before > maxScriptHeap:
			reason = fmt.Sprintf("it allocates more than %d bytes", maxScriptHeap)
		case time.Now().After(deadline):
			reason = fmt.Sprintf("it did not end within %v", maxScriptTime)
		default:
			continue
		}
		s.vm.Interrupt(reason)
		select {
		case err := <-done:
			if err == nil { // it ended just before the interruption
				return nil
			}
		case <-time.After(time.Second):
		}
		return errors.New(reason)
	}
}

// run evaluates a script, and then calls one iteration of it.
func (s *script) run(source string) error {
	s.vm.SetRandSource(func() float64 { s.random = true; return 0.5 }) // the mean of a random pause
	for name, value := range map[string]any{"open": s.read, "k6b64": func(text string) string {
		return base64.StdEncoding.EncodeToString([]byte(text))
	}} {
		if err := s.vm.Set(name, value); err != nil {
			return err
		}
	}
	if _, err := s.vm.RunScript("k6.js", k6Source); err != nil {
		return err
	}
	main, err := s.parse("script", source)
	if err != nil {
		return err
	}
	if err := main.Link(); err != nil {
		return err
	}
	if promise := s.vm.CyclicModuleRecordEvaluate(main,
		s.resolve); promise.State() != sobek.PromiseStateFulfilled {
		return fmt.Errorf("%v", promise.Result())
	}
	exported := s.vm.GetModuleInstance(main)
	options, err := s.json(exported.GetBindingValue("options"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(options), &s.settings); err != nil {
		return fmt.Errorf("its options: %w", err)
	}
	setup := sobek.Undefined()
	if f, is := sobek.AssertFunction(exported.GetBindingValue("setup")); is {
		s.settings.hasSetup = true
		if setup, err = f(sobek.Undefined()); err != nil {
			return err
		}
	}
	f, is := sobek.AssertFunction(exported.GetBindingValue(s.settings.choose(s.options.Group)))
	if !is {
		return fmt.Errorf("it exports no function %s", s.settings.function())
	}
	if _, err := f(sobek.Undefined(), setup); err != nil {
		return err
	}
	recorder := s.vm.Get("k6").ToObject(s.vm)
	text, err := s.json(recorder.Get("state"))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), &s.state)
}

// json returns a value as JSON; {} if it is not defined.
func (s *script) json(value sobek.Value) (string, error) {
	if value == nil || sobek.IsUndefined(value) {
		return "{}", nil
	}
	object := s.vm.Get("JSON").ToObject(s.vm)
	stringify, _ := sobek.AssertFunction(object.Get("stringify"))
	text, err := stringify(object, value)
	if err != nil || sobek.IsUndefined(text) {
		return "{}", err
	}
	return text.String(), nil
}

// parse parses the source of a module, within the limits.
func (s *script) parse(name, source string) (*sobek.SourceTextModuleRecord, error) {
	if len(source) > maxScript || nesting([]byte(source)) > maxBrackets {
		return nil, fmt.Errorf("%s has more than %d bytes, or is nested deeper than %d", name, maxScript,
			maxBrackets)
	}
	return sobek.ParseModule(name, source, s.resolve, parser.WithDisableSourceMaps)
}

// resolve returns a module that a script imports: a replacement of a module of k6, or a file of the
// script's folder.
func (s *script) resolve(_ any, name string) (sobek.ModuleRecord, error) {
	for _, library := range []string{"k6-utils", "k6-summary"} { // of jslib.k6.io
		if strings.HasPrefix(name, "https://jslib.k6.io/"+library+"/") {
			name = library
		}
	}
	if known := s.modules[name]; known != nil {
		return known, nil
	}
	source, known := k6Modules()[name]
	if !known && strings.HasPrefix(name, "./") {
		text, err := s.read(name)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", name, err)
		}
		source, known = text, true
	}
	if !known {
		return nil, fmt.Errorf("it imports %s, which has no counterpart and is not fetched", name)
	}
	module, err := s.parse(name, source)
	if err != nil {
		return nil, err
	}
	s.modules[name] = module
	return module, nil
}

// read returns a file of the script's folder.
func (s *script) read(name string) (string, error) {
	text, err := s.options.read(name, maxText)
	return string(text), err
}

// k6Modules returns the source of the modules that a script may import, by name. They export objects of
// k6.js, and stand-ins for what does not change the requests.
func k6Modules() map[string]string {
	return map[string]string{
		"k6": `export const {sleep, check, group, fail} = k6; export const randomSeed = () => {}; export ` +
			`default k6;`,
		"k6/http": `export default k6.http; export const {request, asyncRequest, get, head, post, put, patch, del,
			options, batch, file, url, cookieJar, expectedStatuses, setResponseCallback} = k6.http;`,
		"k6/metrics": `export const Counter = k6.Metric, Gauge = k6.Metric, Rate = k6.Metric, Trend = k6.Metric;`,
		"k6/data":    `export function SharedArray(name, f) { return f(); }`,
		"k6/encoding": `export const b64encode = (text) => k6b64(String(text));
			export default {b64encode};`,
		"k6/execution": `export default {vu: {get idInTest() { return __VU; }, get idInInstance() { return __VU; },
			get iterationInInstance() { return __ITER; }, get iterationInScenario() { return __ITER; }, tags: {},
			metrics: {tags: {}}}, scenario: {name: "", get iterationInTest() { return __ITER; },
			get iterationInInstance() { return __ITER; }}, instance: {}, test: {abort() {}, options: {}}};`,
		"k6-utils": `export const randomIntBetween = (a, b) => k6.draw("integer", a, b),
			uuidv4 = () => k6.draw("uuid", 0, 0), randomString = (n) => k6.draw("text", n, n),
			randomItem = (all) => (k6.note("randomItem", "the first item is taken"), all[0]);`,
		"k6-summary": `export const textSummary = () => "", jUnit = () => "";`,
	}
}
