package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/gobuild"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// TestMain lets this program run as the processes that a benchmark starts: otherwise the janitor of a
// deployment would run all tests again.
func TestMain(m *testing.M) {
	trials.Main("bench-shop", func(context.Context) error {
		os.Exit(m.Run())
		return nil
	}, part)
}

// TestBench plays a tiny run and reads what it writes.
func TestBench(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results", "shop.json")
	o := options{rows: "raw,inprocess", drivers: "sqlite", out: out, rounds: 2, orders: 20, calls: 20,
		connections: 4, clients: 8, seed: 1}
	testset.Must(t, bench(context.Background(), o))
	text, err := os.ReadFile(out)
	testset.Must(t, err)
	var written []figures.Figure
	testset.Must(t, json.Unmarshal(text, &written))
	if len(written) != 6 || written[2].Must == nil || written[2].N != 2 || written[0].Value <= 0 {
		t.Errorf("figures = %+v", written)
	}
}

func TestBenchRefuses(t *testing.T) {
	whole := options{rows: "raw", drivers: "sqlite", rounds: 2, orders: 1, calls: 1, connections: 1, clients: 1}
	for what, spoil := range map[string]func(*options){
		"one round": func(o *options) { o.rounds = 1 }, "no orders": func(o *options) { o.orders = 0 },
		"no calls":            func(o *options) { o.calls = 0 },
		"an unknown database": func(o *options) { o.drivers = "none" },
		"an unknown row":      func(o *options) { o.rows = "raw,cooked" },
	} {
		o := whole
		spoil(&o)
		if err := bench(context.Background(), o); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// TestOneDatabaseIsMissing: the figures of the others stay.
func TestOneDatabaseIsMissing(t *testing.T) {
	all, err := onEach("sqlite,mariadb,postgres", func(d database.Driver) ([]figures.Figure, error) {
		if d == database.MariaDB {
			return nil, fmt.Errorf("%w: not installed", errSkipped)
		}
		return []figures.Figure{{Figure: string(d)}}, nil
	})
	if len(all) != 2 || !errors.Is(err, errSkipped) || !strings.Contains(err.Error(), "mariadb: skipped") {
		t.Errorf("%d figures, %v; want those of two databases", len(all), err)
	}
	broken := errors.New("it does not start")
	all, err = onEach("sqlite,mariadb", func(database.Driver) ([]figures.Figure, error) { return nil, broken })
	if len(all) != 0 || !errors.Is(err, broken) || errors.Is(err, errSkipped) {
		t.Errorf("%d figures, %v; want %v", len(all), err, broken)
	}
}

// TestReplayNotices: a replay fails if its statements do not find the rows that were recorded.
func TestReplayNotices(t *testing.T) {
	ctx := context.Background()
	place, err := newPlace(ctx, database.SQLite)
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := place.close(); err != nil {
			t.Error(err)
		}
	})
	scripts, err := record(ctx, place, makeJobs(1, 3))
	testset.Must(t, err)
	o := options{connections: 1}
	if _, err := playRaw(ctx, place, scripts, o); err != nil {
		t.Fatal(err)
	}
	if _, err := playRaw(ctx, place, append(scripts, scripts[0]), o); err == nil ||
		!strings.Contains(err.Error(), "recorded") && !strings.Contains(err.Error(), "constraint") {
		t.Errorf("the same order twice: %v", err)
	}
}

// TestTransports: every binding brings the same quote, protected or not.
func TestTransports(t *testing.T) {
	for name := range transports() {
		for _, security := range kit.Security().Values {
			bringsTheQuote(t, callJob{Binding: name, Security: security})
		}
		bringsTheQuote(t, callJob{Binding: name, Security: kit.MutualTLS, Anew: true})
		sizes := map[string]float64{}
		for _, encoding := range kit.Encoding().Values {
			size, err := bytesPerCall(callJob{Binding: name, Security: kit.Plain, Encoding: encoding})
			if sizes[encoding] = size; err != nil {
				t.Errorf("%s in %s: %v", name, encoding, err)
			}
		}
		if sizes[kit.Protobuf] >= sizes[kit.MessagePack] || sizes[kit.MessagePack] >= sizes[kit.JSON] {
			t.Errorf("%s: a call has so many bytes: %v", name, sizes)
		}
	}
}

func bringsTheQuote(t *testing.T, job callJob) {
	t.Helper()
	quoted, stop, err := serveQuotes(job, nil)
	testset.Must(t, err)
	if err := callAll(quoted, 2, 10); err != nil {
		t.Errorf("%+v: %v", job, err)
	}
	answer, err := quoted.Quote(t.Context(), &shoppb.QuoteRequest{ProductIds: []int64{7}})
	if err != nil || answer.GetProducts()[0].GetPriceCents() != 2006 {
		t.Errorf("%+v: %v, %v", job, answer, err)
	}
	if err := stop(); err != nil {
		t.Errorf("%+v: %v", job, err)
	}
}

// TestCheckReady: an answer without success is an error that names the status.
func TestCheckReady(t *testing.T) {
	for status, want := range map[int]string{http.StatusOK: "", http.StatusServiceUnavailable: "503"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		err := checkReady(server.URL)
		server.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// TestSettle: the time until all orders were final is read from the answer. Without one, the error names the
// status.
func TestSettle(t *testing.T) {
	for status, header := range map[int]string{
		http.StatusNoContent: "settle;dur=1500.250", http.StatusServiceUnavailable: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server-Timing", header)
			w.WriteHeader(status)
		}))
		took, err := settle(server.URL)
		server.Close()
		if header != "" && (err != nil || took != 1500250*time.Microsecond) ||
			header == "" && (err == nil || !strings.Contains(err.Error(), "503")) {
			t.Errorf("status %d: %v, %v", status, took, err)
		}
	}
}

// TestDeployedShops plays a trial of answers that come before orders are final, and one of others. The audit
// of a trial finds what is not done when its clock stops.
func TestDeployedShops(t *testing.T) {
	testset.Need(t, "it builds the unit programs and deploys shops")
	units := t.TempDir() + "/"
	testset.Must(t, gobuild.Programs(units, nil, "../../../cmd/unit/shop", "../../../cmd/unit/nats"))
	f, err := newFleet(options{units: units, orders: 20, clients: 4, seed: 1})
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, f.close()) })
	for _, name := range []string{architecture.Async, architecture.Monolith} {
		played, err := f.play(t.Context(), lab.Variant{Architecture: name})
		if err != nil || played.Rate <= 0 || played.Statements <= 0 {
			t.Errorf("%s: %+v, %v", name, played, err)
		}
	}
}
