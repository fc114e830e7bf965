package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

const (
	// maxWaiting is the number of messages that may wait to be sent. Further ones are lost, and counted.
	maxWaiting = 1000
	// sendPatience is the time limit of a message, and at the end that of all messages that wait.
	sendPatience = 5 * time.Second
)

// message is something to post.
type message struct {
	path, kind string
	body       []byte
}

// sender posts messages to a collector, one after the other, on a goroutine of its own.
type sender struct {
	url     string
	waiting chan message
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}

	lost int // messages that found no room

	// The goroutine's own until done is closed.
	failed int   // messages that were not taken
	why    error // the last failure
}

// newSender returns a sender to a collector's URL without a path.
func newSender(url string) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{url: url, waiting: make(chan message, maxWaiting), ctx: ctx, cancel: cancel,
		done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for m := range s.waiting {
			if err := s.post(m); err != nil {
				s.failed, s.why = s.failed+1, err
			}
		}
	}()
	return s
}

// offer puts a message among those that wait, or counts it as lost if there is no room.
func (s *sender) offer(m message) {
	select {
	case s.waiting <- m:
	default:
		s.lost++
	}
}

// close sends what waits, and returns an error if anything was not sent.
func (s *sender) close() error {
	close(s.waiting)
	late := time.AfterFunc(sendPatience, s.cancel)
	<-s.done
	late.Stop()
	s.cancel()
	switch {
	case s.failed > 0:
		return fmt.Errorf("%d messages did not reach the collector %s: %w", s.lost+s.failed, s.url, s.why)
	case s.lost > 0:
		return fmt.Errorf("%d messages were not sent: the collector %s is too slow", s.lost, s.url)
	}
	return nil
}

func (s *sender) post(m message) error {
	ctx, cancel := context.WithTimeout(s.ctx, sendPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+m.path, bytes.NewReader(m.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", m.kind)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", s.url+m.path, answer.Status)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	return err
}

// encode returns figures as an export of OTLP (OpenTelemetry protocol 1.x, section "OTLP/HTTP").
func encode(figures []Figure, at time.Time) message {
	all := pmetric.NewMetrics()
	resource := all.ResourceMetrics().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "cleave")
	metrics := resource.ScopeMetrics().AppendEmpty().Metrics()
	known := map[string]pmetric.NumberDataPointSlice{}
	for _, f := range figures {
		points, is := known[f.Name]
		if !is {
			metric := metrics.AppendEmpty()
			metric.SetName(f.Name)
			metric.SetDescription(f.Help)
			metric.SetUnit(f.Unit)
			if f.Total {
				sum := metric.SetEmptySum()
				sum.SetIsMonotonic(true)
				sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
				points = sum.DataPoints()
			} else {
				points = metric.SetEmptyGauge().DataPoints()
			}
			known[f.Name] = points
		}
		point := points.AppendEmpty()
		point.SetTimestamp(pcommon.NewTimestampFromTime(at))
		point.SetDoubleValue(f.Value)
		for name, value := range f.Labels {
			point.Attributes().PutStr(name, value)
		}
	}
	body, _ := pmetricotlp.NewExportRequestFromMetrics(all).MarshalProto() // it is well formed
	return message{"/v1/metrics", "application/x-protobuf", body}
}
