package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/report/progress"
)

// interval is the time between two reads of a run that a page follows.
const interval = time.Second

// Limits of the data in an event.
const (
	mostUnits = 40 // in a second
	mostBars  = 12 // in a headline
)

// live sends the progress of a run as server-sent events: each line, each second of the current trial, and
// the state when it changes. The ID of an event is the offset at which its line ends, so that a page can
// continue there after its connection was lost. When the server stops, live sends the event bye and what is
// new by then.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	offset := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from"))
	from, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		from = -1
	}
	f := watching{shelf: s.shelf, run: r.PathValue("run"), from: from, second: -1}
	for ends := false; ; {
		var events bytes.Buffer
		more, err := f.look(&events)
		if err != nil {
			if f.sent == "" {
				refuse(w, err)
			}
			return
		}
		if !send(w, events.Bytes()) {
			return
		}
		if more {
			continue
		}
		if ends {
			return
		}
		select {
		case <-r.Context().Done(): // the page was closed or the server stops
			if ends = true; !send(w, []byte("event: bye\ndata: \n\n")) {
				return
			}
		case <-time.After(interval):
		}
	}
}

// watching is the state of a page that follows a run.
type watching struct {
	shelf  Shelf
	run    string
	from   int64        // offset in the progress of the run; negative: at its last lines
	second int64        // offset in the seconds of the current trial; negative: at the last ones
	sent   lab.RunState // the state that was sent last
}

// look writes events for what is new. more reports whether it should be called again at once.
func (f *watching) look(events *bytes.Buffer) (more bool, err error) {
	state, err := f.shelf.State(f.run)
	lines, next, unread := f.shelf.Progress(f.run, f.from)
	if err := errors.Join(err, unread); err != nil {
		return false, err
	}
	at := next - int64(len(lines))
	for line := range bytes.Lines(lines) {
		at += int64(len(line))
		writeEvent(events, line, at)
	}
	more = next != f.from && len(lines) > 0
	if f.from = next; more {
		return true, nil
	}
	if state != f.sent {
		fmt.Fprintf(events, "event: state\ndata: %s\n\n", state)
		f.sent = state
	}
	if state != lab.RunPlaying {
		return false, nil // the seconds may be left over from a run that was killed
	}
	seconds, next, err := f.shelf.Seconds(f.run, f.second)
	if err != nil {
		return false, nil // the page works without the seconds
	}
	for line := range bytes.Lines(seconds) {
		writeSecond(events, line)
	}
	f.second = next
	return false, nil
}

// writeEvent writes a line of progress as an event, or nothing if it is not valid. It decodes and encodes the
// line, so that the content of the file cannot inject events.
func writeEvent(events *bytes.Buffer, line []byte, end int64) {
	var read progress.Line
	if json.Unmarshal(line, &read) != nil {
		return
	}
	read.Phases = nil
	for _, text := range []*string{&read.Event, &read.Variant, &read.Point, &read.Reason, &read.Text} {
		*text = plain.Text(*text)
	}
	if h := read.Headline; h != nil {
		h.Bars = h.Bars[:min(mostBars, len(h.Bars))]
	}
	data, err := json.Marshal(read)
	if err != nil {
		return
	}
	fmt.Fprintf(events, "id: %d\ndata: %s\n\n", end, data)
}

// writeSecond writes a second of a trial as an event, or nothing if it is not valid.
func writeSecond(events *bytes.Buffer, line []byte) {
	var read progress.SecondLine
	if json.Unmarshal(line, &read) != nil {
		return
	}
	if read.Used != nil {
		units := map[string]float64{}
		names := slices.Sorted(maps.Keys(read.Used.Cores)) // so that each second has the same units
		for _, name := range names[:min(mostUnits, len(names))] {
			units[plain.Text(name)] = read.Used.Cores[name]
		}
		read.Used.Cores = units
	}
	if data, err := json.Marshal(read); err == nil {
		fmt.Fprintf(events, "event: second\ndata: %s\n\n", data)
	}
}

// send sends events, and reports whether that succeeded.
func send(w http.ResponseWriter, events []byte) bool {
	if len(events) == 0 {
		return true
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(patience)) // net/http can set it
	_, err := w.Write(events)
	return err == nil && control.Flush() == nil
}
