package trial

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/secret"
)

// rowMaker converts samples to rows of a list of operations.
type rowMaker struct {
	operations []string
	urls       []string // by operation
	active     int      // users or connections, see record.Row
	grpc       bool
}

// newRowMaker returns the converter for a trial's samples.
func newRowMaker(t *Trial) rowMaker {
	m := rowMaker{operations: t.plan.Operations(), active: cmp.Or(t.model.users, t.spec.Connections),
		grpc: len(t.methods()) > 0}
	for _, operation := range m.operations {
		m.urls = append(m.urls, t.url(operation))
	}
	return m
}

// url returns the URL of an operation, with its templates and without passwords.
func (t *Trial) url(operation string) string {
	for _, flow := range t.spec.Scenario.Flows {
		for _, step := range flow.Steps {
			if operation != step.Operation() {
				continue
			}
			if step.GRPC != "" {
				return t.at.scheme + "://" + t.at.host + "/" + step.GRPC
			}
			_, path, _ := strings.Cut(step.Request, " ")
			return secret.HidePasswords(t.at.origin() + t.at.path + path)
		}
	}
	return t.spec.Target
}

// row returns the row of a sample.
func (m *rowMaker) row(start time.Time, loop int, s *record.Sample) record.Row {
	r := record.Row{
		Started: start.Add(s.Intended), Elapsed: s.Finished - s.Intended, Connect: s.Connected,
		Operation: m.operations[s.Operation], URL: m.urls[s.Operation],
		Loop: fmt.Sprintf("loop %d-%d", loop+1, s.Connection+1), Outcome: s.Outcome,
		Received: s.Received, SentBytes: s.Written, Active: m.active, Follows: s.Follows, Resent: s.Resent,
		Noted:    s.Noted,
		Intended: s.Intended, Sent: s.Sent, Finished: s.Finished,
	}
	if s.FirstByte > s.Intended {
		r.FirstByte = s.FirstByte - s.Intended
	}
	answered := s.Status != 0
	if m.grpc && !answered { // status 0 is OK in gRPC; the outcome tells whether it was received
		answered = s.Outcome == record.OK || s.Outcome == record.Failed
	}
	switch {
	case !answered:
		r.Status = ""
		r.Message = s.Outcome.String()
	case m.grpc && s.Status < 100: // from 100 on it is of HTTP: the answer was none of gRPC
		r.Status = strconv.Itoa(int(s.Status))
		r.Message = codes.Code(s.Status).String()
	default:
		r.Status = strconv.Itoa(int(s.Status))
		r.Message = http.StatusText(int(s.Status))
	}
	if s.Outcome != record.OK {
		r.Failure = s.Outcome.String()
	}
	return r
}
