package scenario

import (
	"fmt"
	"time"
)

// Schema is the format of scenario files, with its version. File.Schema must have this value.
const Schema = "cleave-scenario/1"

// File is a scenario as a user writes it. In texts of requests, ${name} stands for a value, a column of data
// or an extraction of an earlier step of the flow, and $${ for ${.
type File struct {
	Schema string `yaml:"schema" json:"schema"`
	Name   string `yaml:"name" json:"name"`
	// Target is the URL of the system, before every step's path. The command line can replace it.
	Target string `yaml:"target,omitempty" json:"target,omitempty"`
	// Load says when flows begin. The command line can replace it.
	Load *Load `yaml:"load,omitempty" json:"load,omitempty"`
	// Seed of all random choices. Every loop and user draws its own numbers from it.
	Seed uint64 `yaml:"seed,omitempty" json:"seed,omitempty"`
	// Headers are sent with every step that does not set the same header.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Values are generated anew for every flow.
	Values map[string]Value `yaml:"values,omitempty" json:"values,omitempty"`
	// Data are rows of files. A flow takes one row of each file that it uses; ${name.column} stands for a
	// column of that row.
	Data map[string]Data `yaml:"data,omitempty" json:"data,omitempty"`
	// Cookies: a flow sends back the cookies that it received. Default true.
	Cookies *bool  `yaml:"cookies,omitempty" json:"cookies,omitempty"`
	Flows   []Flow `yaml:"flows" json:"flows"`

	origin position // lines of the parts in the file, for messages
}

// LongestFlow returns the number of steps of the longest flow; 0 without flows.
func (f *File) LongestFlow() int {
	longest := 0
	for _, flow := range f.Flows {
		longest = max(longest, len(flow.Steps))
	}
	return longest
}

// Load says when flows begin. It has one of Rate, Ramp, Steps, Spike and Replay for an open loop, or
// Users for a closed one. Rates are texts such as "50", "50/s", "3000/m" or "900/h".
type Load struct {
	Rate string `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Arrivals are constant (default), jittered or poisson.
	Arrivals string  `yaml:"arrivals,omitempty" json:"arrivals,omitempty"`
	Ramp     *Ramp   `yaml:"ramp,omitempty" json:"ramp,omitempty"`
	Steps    *Stairs `yaml:"steps,omitempty" json:"steps,omitempty"`
	Spike    *Spike  `yaml:"spike,omitempty" json:"spike,omitempty"`
	// Replay is a file with one arrival per line, in seconds since the beginning.
	Replay   string   `yaml:"replay,omitempty" json:"replay,omitempty"`
	Users    int      `yaml:"users,omitempty" json:"users,omitempty"`
	Think    Duration `yaml:"think,omitempty" json:"think,omitempty"`     // of a user, between flows
	RampUp   Duration `yaml:"ramp_up,omitempty" json:"ramp_up,omitempty"` // time in which the users begin
	Duration Duration `yaml:"duration,omitempty" json:"duration,omitempty"`
}

// Ramp is a rate that changes evenly over the duration of the load.
type Ramp struct {
	From string `yaml:"from" json:"from"`
	To   string `yaml:"to" json:"to"`
}

// Stairs are Count constant rates, each for the time Each. The first is From, and each further one is higher
// by By. Their total time replaces the duration of the load.
type Stairs struct {
	From  string   `yaml:"from" json:"from"`
	By    string   `yaml:"by" json:"by"`
	Count int      `yaml:"count" json:"count"`
	Each  Duration `yaml:"each" json:"each"`
}

// Spike is a base rate with one period of a higher rate.
type Spike struct {
	Base string   `yaml:"base" json:"base"`
	Peak string   `yaml:"peak" json:"peak"`
	At   Duration `yaml:"at" json:"at"`   // since the beginning
	For  Duration `yaml:"for" json:"for"` // length
}

// Value generates a value. Exactly one field must be set.
type Value struct {
	UUID    *struct{} `yaml:"uuid,omitempty" json:"uuid,omitempty"` // version 4, from the seed
	Integer *Range    `yaml:"integer,omitempty" json:"integer,omitempty"`
	Zipf    *Zipf     `yaml:"zipf,omitempty" json:"zipf,omitempty"`
	Name    *struct{} `yaml:"name,omitempty" json:"name,omitempty"` // name of a person: "Ada Berg"
	Text    *Text     `yaml:"text,omitempty" json:"text,omitempty"` // random letters and digits
	Choice  []string  `yaml:"choice,omitempty" json:"choice,omitempty"`
	// Sequence counts from its number on. Each of the n loops of all agents takes every n-th number, so no
	// number repeats. Where a loop plays fewer flows than others, its last numbers are missing.
	Sequence *int64 `yaml:"sequence,omitempty" json:"sequence,omitempty"`
}

// Range is a whole number from From to To, both included, with equal probability.
type Range struct {
	From int64 `yaml:"from" json:"from"`
	To   int64 `yaml:"to" json:"to"`
}

// Zipf is a whole number from From to To; the k-th has a probability proportional to 1/k^Exponent. The
// exponent is 0 (equal probabilities) or higher.
type Zipf struct {
	From     int64   `yaml:"from" json:"from"`
	To       int64   `yaml:"to" json:"to"`
	Exponent float64 `yaml:"exponent" json:"exponent"`
}

// Text is a text of a fixed length.
type Text struct {
	Length int `yaml:"length" json:"length"`
}

// Data are rows of a file in the scenario's folder: CSV with a header line, or JSON objects, one per
// line. Exactly one of CSV and JSONL must be set.
type Data struct {
	CSV   string `yaml:"csv,omitempty" json:"csv,omitempty"`
	JSONL string `yaml:"jsonl,omitempty" json:"jsonl,omitempty"`
	// Order is sequential (default) or random. Sequential: each of n loops takes every n-th row, and begins
	// again at the end.
	Order string `yaml:"order,omitempty" json:"order,omitempty"`
}

// Flow holds the steps of one user, in order. A failed step ends the flow; the steps after it count as
// skipped.
type Flow struct {
	Name   string  `yaml:"name" json:"name"`
	Weight float64 `yaml:"weight,omitempty" json:"weight,omitempty"` // default 1
	Steps  []Step  `yaml:"steps" json:"steps"`
}

// Step is one operation. Either Request or GRPC must be set.
type Step struct {
	// Name is the name of the operation in all output. Steps with the same name are counted together.
	// Default: the request.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Request is "METHOD /path".
	Request string `yaml:"request,omitempty" json:"request,omitempty"`
	// GRPC is a unary method, "package.Service/Method". Body or JSON is the request message, as JSON.
	GRPC    string            `yaml:"grpc,omitempty" json:"grpc,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty" json:"body,omitempty"`
	// JSON is a body written as YAML; it is sent as JSON with its content type.
	JSON    any                   `yaml:"json,omitempty" json:"json,omitempty"`
	Expect  Expect                `yaml:"expect,omitempty" json:"expect,omitzero"`
	Extract map[string]Extraction `yaml:"extract,omitempty" json:"extract,omitempty"`
	// Note lists names of values, columns (data.column) and extractions. The list of operations then contains
	// their values, for audits.
	Note []string `yaml:"note,omitempty" json:"note,omitempty"`
	// Think is the pause after the step.
	Think Duration `yaml:"think,omitempty" json:"think,omitempty"`
	// Check judges the answer in Go, in addition to Expect; a scenario file cannot have it. Its error is the
	// complaint. It must not keep the answer's memory.
	Check func(answer Answer) error `yaml:"-" json:"-"`
}

// Expect describes a right answer; see package oracle. Texts, except patterns, may contain values as
// requests do.
type Expect struct {
	// Status is "201", "2xx", "200-299"; for gRPC "OK", "NOT_FOUND".
	Status string            `yaml:"status,omitempty" json:"status,omitempty"`
	Body   []string          `yaml:"body,omitempty" json:"body,omitempty"`     // text, or "re:PATTERN"
	JSON   map[string]string `yaml:"json,omitempty" json:"json,omitempty"`     // path: value
	Header map[string]string `yaml:"header,omitempty" json:"header,omitempty"` // name: text, or "re:PATTERN"
}

// Extraction extracts a value of the answer. Exactly one field must be set. An answer without the value
// fails the step.
type Extraction struct {
	JSON   string `yaml:"json,omitempty" json:"json,omitempty"` // path: items.0.id or $.items[0].id
	Header string `yaml:"header,omitempty" json:"header,omitempty"`
	Regexp string `yaml:"regexp,omitempty" json:"regexp,omitempty"` // its first group, or the whole match
}

// Duration is written as "150ms" or "2m".
type Duration time.Duration

// String returns the duration as scenarios write it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler, for YAML and JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a duration such as "150ms" or "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span < 0 {
		return fmt.Errorf("%q is no time span: write for example 150ms, 2s or 1m30s", text)
	}
	*d = Duration(span)
	return nil
}
