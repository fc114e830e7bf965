package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/report/progress"
)

// look is the interval at which a run is read for a page that follows it.
const look = time.Second

// live sends the progress of a run as server-sent events: each line, and the state when it changes. The
// number of an event is where its line ends, so that a page that was cut off goes on from there. When the
// server ends it says so, and then what is new.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("run")
	from, err := strconv.ParseInt(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from")), 10, 64)
	if err != nil {
		from = -1
	}
	var told lab.RunState
	for ends := false; ; {
		state, err := s.shelf.State(name)
		lines, next, unread := s.shelf.Progress(name, from)
		if err := errors.Join(err, unread); err != nil {
			if told == "" {
				refuse(w, err)
			}
			return
		}
		var events bytes.Buffer
		at := next - int64(len(lines))
		for line := range bytes.Lines(lines) {
			at += int64(len(line))
			writeEvent(&events, line, at)
		}
		more := next != from && len(lines) > 0
		if from = next; !more && state != told {
			fmt.Fprintf(&events, "event: state\ndata: %s\n\n", state)
			told = state
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
		case <-r.Context().Done(): // the page or the server goes away
			if ends = true; !send(w, []byte("event: bye\ndata: \n\n")) {
				return
			}
		case <-time.After(look):
		}
	}
}

// writeEvent writes a line of progress as an event, and skips what is none. It encodes the line anew: a file
// must not make events of its own.
func writeEvent(events *bytes.Buffer, line []byte, end int64) {
	var read progress.Line
	if json.Unmarshal(line, &read) != nil {
		return
	}
	read.Phases = nil
	for _, text := range []*string{&read.Event, &read.Variant, &read.Point, &read.Reason, &read.Text} {
		*text = plain.Text(*text)
	}
	data, err := json.Marshal(read)
	if err != nil {
		return
	}
	fmt.Fprintf(events, "id: %d\ndata: %s\n\n", end, data)
}

// send sends events, and reports whether the browser took them.
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
