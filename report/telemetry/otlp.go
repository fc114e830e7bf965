package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// maxWaiting is the number of messages that may wait to be sent. Further ones are counted as lost.
	maxWaiting = 1000
	// sendPatience is the time limit for a message, and at the end for all waiting messages together.
	sendPatience = 5 * time.Second
)

// message is a request to post.
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

	lost int // messages that were dropped because too many waited

	// Only the goroutine may use these until done is closed.
	failed int   // messages that could not be posted
	why    error // the first failure
}

// newSender returns a sender to the base URL of a collector.
func newSender(url string) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{url: url, waiting: make(chan message, maxWaiting), ctx: ctx, cancel: cancel,
		done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for m := range s.waiting {
			if err := s.post(m); err != nil {
				s.failed++
				s.why = cmp.Or(s.why, err) // later ones may only follow from it
			}
		}
	}()
	return s
}

// offer queues a message, or counts it as lost if the queue is full.
func (s *sender) offer(m message) {
	select {
	case s.waiting <- m:
	default:
		s.lost++
	}
}

// close sends the waiting messages, and returns an error if any message was not sent.
func (s *sender) close() error {
	close(s.waiting)
	late := time.AfterFunc(sendPatience, s.cancel)
	<-s.done
	late.Stop()
	s.cancel()
	switch {
	case s.failed > 0:
		return fmt.Errorf("%s did not reach the collector %s: %w", lab.Count(s.lost+s.failed, "message"), s.url,
			s.why)
	case s.lost > 0:
		return fmt.Errorf("%s lost: the collector %s is too slow", lab.Count(s.lost, "message"), s.url)
	}
	return nil
}

// post sends a message and waits for the answer.
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

// encode returns figures as a message of OTLP (OpenTelemetry protocol 1.x, section "OTLP/HTTP").
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
	body, _ := pmetricotlp.NewExportRequestFromMetrics(all).MarshalProto() // cannot fail for well-formed metrics
	return message{"/v1/metrics", "application/x-protobuf", body}
}
