package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// recording is a HAR 1.2 document as far as a scenario needs it; fields that
// begin with an underscore are Chromium's.
type recording struct {
	Log struct {
		Pages []struct {
			Title string `json:"title"`
		} `json:"pages"`
		Entries []entry `json:"entries"`
	} `json:"log"`
}

// entry is one request of a recording with its answer.
type entry struct {
	Started string  `json:"startedDateTime"`
	Time    float64 `json:"time"` // in ms
	Request struct {
		Method   string    `json:"method"`
		URL      string    `json:"url"`
		Headers  []pair    `json:"headers"`
		Cookies  []pair    `json:"cookies"`
		PostData *postData `json:"postData"`
		BodySize int       `json:"bodySize"` // in bytes, -1 unknown
	} `json:"request"`
	Response struct {
		Status  int    `json:"status"`
		Headers []pair `json:"headers"`
		Cookies []pair `json:"cookies"`
		Error   string `json:"_error"`
	} `json:"response"`
	ResourceType string          `json:"_resourceType"`
	FromCache    string          `json:"_fromCache"`
	Messages     json.RawMessage `json:"_webSocketMessages"`

	number int // in the recording, from 1
	url    *url.URL
	start  time.Time
}

// pair is a header, a cookie or a query parameter.
type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// where names the entry in notes.
func (e *entry) where() string { return "entry " + strconv.Itoa(e.number) }

// what shows the entry in notes, without its query, which may hold secrets.
func (e *entry) what() string {
	address, _, _ := strings.Cut(e.Request.URL, "?")
	return e.Request.Method + " " + address
}

// origin is scheme and host of the entry.
func (e *entry) origin() string { return e.url.Scheme + "://" + e.url.Host }

// end is when the answer was complete.
func (e *entry) end() time.Time {
	const longest = 24 * time.Hour // a duration beyond it is a mistake of the recorder
	took := time.Duration(min(max(e.Time, 0), longest.Seconds()*1000) * float64(time.Millisecond))
	return e.start.Add(took)
}

// har converts a recording.
func (d *draft) har(data []byte, options Options) error {
	var r recording
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	if len(r.Log.Entries) == 0 {
		return errors.New("the recording has no entries: record with the network tab open, then save as HAR")
	}
	usable := d.usableEntries(r.Log.Entries)
	kept, err := d.keepOrigin(usable, options.Host)
	if err != nil {
		return err
	}
	flow := scenario.Flow{Name: "recording"}
	if len(r.Log.Pages) > 0 && oneLine(r.Log.Pages[0].Title) != "" {
		flow.Name = oneLine(literal(r.Log.Pages[0].Title))
	}
	dropped := map[string]bool{}
	var played []*entry
	for _, e := range kept {
		step, ok := d.recordedStep(e, dropped)
		if ok && len(played) == maxSteps {
			d.note(e.where(), e.what(), fmt.Sprintf("a flow has at most %d steps", maxSteps))
		} else if ok {
			flow.Steps = append(flow.Steps, step)
			played = append(played, e)
		}
	}
	if len(played) == 0 {
		return errors.New("no entry of the recording can be played: " + d.reasons())
	}
	d.file.Target = played[0].origin()
	d.pauses(flow.Steps, played, options.NoThink)
	d.cookies(played)
	d.leftOutHeaders(dropped)
	d.file.Flows = []scenario.Flow{flow}
	return nil
}

// reasons shortens the notes to an error message.
func (d *draft) reasons() string {
	const shown = 3
	var texts []string
	for _, n := range d.notes[:min(shown, len(d.notes))] {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, "; ")
}

// usableEntries returns the entries that are plain requests with an answer, in
// the order of their start.
func (d *draft) usableEntries(entries []entry) []*entry {
	var usable []*entry
	for i := range entries {
		e := &entries[i]
		e.number = i + 1
		if reason := e.unusable(); reason != "" {
			d.note(e.where(), e.what(), reason)
			continue
		}
		usable = append(usable, e)
	}
	slices.SortStableFunc(usable, func(a, b *entry) int { return a.start.Compare(b.start) })
	return usable
}

// unusable says why an entry cannot be a step; it reads the entry's address and
// time on the way.
func (e *entry) unusable() string {
	var err error
	e.url, err = url.Parse(e.Request.URL)
	if err != nil || e.url.Host == "" && e.url.Scheme != "data" && e.url.Scheme != "blob" {
		return "its URL cannot be read"
	}
	e.start, err = time.Parse(time.RFC3339Nano, e.Started)
	switch {
	case e.url.Scheme == "ws" || e.url.Scheme == "wss" || e.Response.Status == 101 || len(e.Messages) > 0:
		return "websockets have no counterpart"
	case e.url.Scheme != "http" && e.url.Scheme != "https":
		return "not a request over HTTP"
	case e.ResourceType == "eventsource":
		return "a stream of events has no end that could be timed"
	case e.ResourceType == "preflight":
		return "a browser's own question before a request to another origin; the engine asks none"
	case e.FromCache != "":
		return "answered by the browser's " + e.FromCache + " cache; the target did not see it"
	case e.Response.Status == 0:
		return strings.TrimSpace("has no answer (blocked, aborted or failed) " + e.Response.Error)
	case e.Response.Status < 200 || e.Response.Status > 599:
		return fmt.Sprintf("status %d is not a final one", e.Response.Status)
	case !methodToken(e.Request.Method):
		return "its method cannot be sent"
	case err != nil:
		return "its time cannot be read, so its place in the flow is unknown"
	}
	return ""
}

// methodToken reports whether a text can be a request's method, and is not one
// that opens a tunnel.
func methodToken(method string) bool {
	for _, r := range method {
		if (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' {
			return false
		}
	}
	return method != "" && method != "CONNECT"
}

// keepOrigin chooses the origin that the scenario plays against and lists the
// others.
func (d *draft) keepOrigin(usable []*entry, host string) ([]*entry, error) {
	counts := map[string]int{}
	var origins []string // in order of appearance
	for _, e := range usable {
		if counts[e.origin()] == 0 {
			origins = append(origins, e.origin())
		}
		counts[e.origin()]++
	}
	main := mainOrigin(usable, origins, counts, host)
	if main == "" && host != "" {
		return nil, fmt.Errorf("no entry goes to host %s: the recording has %s", host, strings.Join(origins, ", "))
	}
	for _, origin := range origins {
		if origin != main {
			d.note(origin, fmt.Sprintf("%d requests", counts[origin]),
				"a scenario has one target, "+main+"; import again and choose this host for a scenario of its own")
		}
	}
	return slices.DeleteFunc(usable, func(e *entry) bool { return e.origin() != main }), nil
}

// mainOrigin is that of the chosen host; without choice that of the first page,
// or the most frequent where the recorder does not tell pages from the rest.
func mainOrigin(usable []*entry, origins []string, counts map[string]int, host string) string {
	for _, e := range usable {
		if host == "" && e.ResourceType == "document" || host != "" && (e.url.Host == host || e.origin() == host) {
			return e.origin()
		}
	}
	main := ""
	for _, origin := range origins {
		if host == "" && counts[origin] > counts[main] {
			main = origin
		}
	}
	return main
}

// pauses sets the think times: from the end of everything before a request to
// its start.
func (d *draft) pauses(steps []scenario.Step, played []*entry, none bool) {
	overlapping := 0
	last := played[0].end()
	for i := 1; i < len(played); i++ {
		gap := played[i].start.Sub(last).Round(time.Millisecond)
		if played[i].start.Before(last) {
			overlapping++
		} else if !none {
			steps[i-1].Think = scenario.Duration(gap)
		}
		if played[i].end().After(last) {
			last = played[i].end()
		}
	}
	if overlapping > 0 {
		d.note("recording", fmt.Sprintf("%d requests began before the ones before them had ended", overlapping),
			"the steps of a flow follow each other; a browser's parallel connections have no counterpart")
	}
	if none {
		d.note("recording", "pauses between the requests", "left out as asked")
	}
}
