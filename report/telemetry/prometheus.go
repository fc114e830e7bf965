package telemetry

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
)

// scraper is a server that answers Prometheus with the latest figures.
type scraper struct {
	address string
	figures atomic.Pointer[[]Figure]
	server  http.Server
	serving errgroup.Group
}

// newScraper starts a server at an address, which answers at /metrics.
func newScraper(address string) (*scraper, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &scraper{address: listener.Addr().String()}
	registry := client.NewPedanticRegistry()
	if err := registry.Register(s); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	paths := http.NewServeMux()
	paths.Handle("GET /metrics", promhttp.HandlerFor(registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s.server = http.Server{Handler: paths, ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() error {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return s, nil
}

// close stops the server.
func (s *scraper) close() error { return errors.Join(s.server.Close(), s.serving.Wait()) }

// Describe implements prometheus.Collector. It describes nothing, since the figures are not known in advance.
func (s *scraper) Describe(chan<- *client.Desc) {}

// Collect implements prometheus.Collector.
func (s *scraper) Collect(out chan<- client.Metric) {
	figures := s.figures.Load()
	if figures == nil {
		return
	}
	for _, f := range *figures {
		names := slices.Sorted(maps.Keys(f.Labels))
		var values []string
		for _, name := range names {
			values = append(values, f.Labels[name])
		}
		kind := client.GaugeValue
		if f.Total {
			kind = client.CounterValue
		}
		about := client.NewDesc(scrapedName(f), f.Help, names, nil)
		out <- client.MustNewConstMetric(about, kind, f.Value, values...)
	}
}

// scrapedName returns the name of a figure by the rules of Prometheus ("Metric and label naming") and
// OpenTelemetry ("Prometheus and OpenMetrics Compatibility", section "Metric Metadata").
func scrapedName(f Figure) string {
	name := strings.Split(f.Name, ".")
	switch f.Unit {
	case "s":
		name = append(name, "seconds")
	case "By":
		name = append(name, "bytes")
	}
	if f.Total {
		name = append(name, "total")
	}
	return strings.Join(name, "_")
}
