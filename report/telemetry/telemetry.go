// Package telemetry passes figures to other programs while a load or an experiment runs: it sends them
// to a collector over OTLP, with spans if there are any, and lets Prometheus scrape them. It computes
// no figures and stores only the latest. Begin at Open.
package telemetry

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Figure is a value at a moment.
type Figure struct {
	Name string // by OpenTelemetry's conventions, such as "cleave.load.response_time"
	Help string
	Unit string // by the Unified Code for Units of Measure: "s", "1", "{operation}/s"
	// Total is true for a count that only grows.
	Total  bool
	Value  float64
	Labels map[string]string
}

// The kinds of targets.
const (
	otlp       = "otlp"
	prometheus = "prometheus"
)

// Target is a program that figures are passed to.
type Target struct {
	kind    string
	address string // for OTLP a URL, otherwise host and port
}

// ParseTarget reads a target: "otlp=http://HOST:PORT" or "prometheus=HOST:PORT".
func ParseTarget(text string) (Target, error) {
	switch kind, address, _ := strings.Cut(text, "="); kind {
	case otlp:
		at, err := url.Parse(address)
		if err != nil {
			break
		}
		isHTTP := at.Scheme == "http" || at.Scheme == "https"
		if isHTTP && at.Host != "" {
			return Target{otlp, strings.TrimSuffix(address, "/")}, nil
		}
	case prometheus:
		host, port, err := net.SplitHostPort(address)
		if _, wrong := strconv.ParseUint(port, 10, 16); errors.Join(err, wrong) == nil && host != "" {
			return Target{prometheus, address}, nil
		}
	}
	return Target{}, fmt.Errorf("%q is not a target for figures: expected otlp=http://HOST:PORT or "+
		"prometheus=HOST:PORT", text)
}

// String returns the target in the form that ParseTarget reads.
func (t Target) String() string { return t.kind + "=" + t.address }

// TakesSpans reports whether spans can be sent to the target.
func (t Target) TakesSpans() bool { return t.kind == otlp }

// Outs sends figures to the targets of a load or an experiment. Its methods must be called from one
// goroutine. Only Close waits for a target.
type Outs struct {
	senders  []*sender
	scrapers []*scraper
}

// Open returns the Outs for targets, and starts the servers for Prometheus.
func Open(targets []Target) (*Outs, error) {
	o := &Outs{}
	for _, t := range targets {
		if t.kind == otlp {
			o.senders = append(o.senders, newSender(t.address))
			continue
		}
		s, err := newScraper(t.address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("let Prometheus scrape %s: %w", t.address, err), o.Close())
		}
		o.scrapers = append(o.scrapers, s)
	}
	return o, nil
}

// Show sends figures to every target, in place of the figures before.
func (o *Outs) Show(figures []Figure) {
	for _, s := range o.scrapers {
		s.figures.Store(&figures)
	}
	for _, s := range o.senders {
		s.offer(encode(figures, time.Now()))
	}
}

// showSpans sends spans in the form of OTLP's JSON.
func (o *Outs) showSpans(document []byte) {
	for _, s := range o.senders {
		s.offer(message{"/v1/traces", "application/json", document})
	}
}

// Close sends the waiting messages, within some seconds, and stops the servers. It returns an error if any
// message was not sent.
func (o *Outs) Close() error {
	var errs []error
	for _, s := range o.senders {
		errs = append(errs, s.close())
	}
	for _, s := range o.scrapers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
