//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
)

// service is a server that records spans and calls others.
type service struct {
	name    string
	own     time.Duration // time of a request, without calls
	cpu     time.Duration // CPU time of the process per request
	calls   []string      // services that it calls at once after its own time
	offPath bool          // not on the critical path, since its caller waits longer for another service
	flags   string        // more flags, as items of a list in YAML
}

// fourServices returns the services of an operation, in which cart takes the given time.
func fourServices(cart time.Duration) []service {
	const ms = time.Millisecond
	return []service{
		{name: "front", own: 20 * ms, cpu: 3 * ms, calls: []string{"cart", "ads"}},
		{name: "cart", own: cart, cpu: cart / 10, calls: []string{"prices"}},
		{name: "prices", own: 25 * ms, cpu: 2 * ms},
		{name: "ads", own: 30 * ms, cpu: 2 * ms, offPath: true},
	}
}

// slowService returns services with a bottleneck: cart serves 40 requests per second, one after the other.
// The other services use more CPU time.
func slowService() []service {
	const ms = time.Millisecond
	return []service{
		{name: "front", cpu: 3 * ms, calls: []string{"cart"}},
		{name: "cart", calls: []string{"prices"}, flags: "-capacity, '40'"},
		{name: "prices", own: 5 * ms, cpu: 3 * ms},
	}
}

// tracedImage is the name of the image of this program.
const tracedImage = "cleave-truth:1"

// composed returns a compose file for services, which publishes the port of the first one.
func composed(services []service) string {
	text := "services:\n"
	for i, s := range services {
		var calls []string
		for _, name := range s.calls {
			calls = append(calls, "http://"+name+"/")
		}
		text += fmt.Sprintf("  %s:\n    image: %s\n    environment: {OTEL_SERVICE_NAME: %s}\n"+
			"    command: [serve, -host, '', -port, '80', -traced, -sleep, %v, -cpu, %v, -calls, '%s', %s]\n",
			s.name, tracedImage, s.name, s.own, s.cpu, strings.Join(calls, " "), s.flags)
		if i == 0 {
			text += "    ports: ['8080:80']\n"
		}
	}
	return text
}

// inContainers writes compose files of services, by name, and calls f with their folder. If the host cannot
// run containers, it prints why and does not call f.
func (p player) inContainers(systems map[string][]service, f func(dir string) error) (err error) {
	stop, err := dockertest.Reach()
	if err != nil {
		fmt.Fprintf(p.story, "services in containers are not available here: %v\n", err)
		return nil
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := dockertest.Build(tracedImage, p.server); err != nil {
		return err
	}
	for name, services := range systems {
		text := "name: " + name + "\n" + composed(services)
		if err := os.WriteFile(filepath.Join(p.results, name+".yaml"), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a compose file: %w", err)
		}
	}
	return f(p.results)
}

// playServices compares services by their spans and their CPU time.
func playServices(ctx context.Context, p player, seed uint64, found *tally) error {
	const ms = time.Millisecond
	base := fourServices(40 * ms)
	slow := fourServices(60 * ms)
	return p.inContainers(map[string][]service{"base": base, "slow": slow}, func(dir string) error {
		arguments := []string{"compare", filepath.Join(dir, "base.yaml"), filepath.Join(dir, "slow.yaml"),
			"--path", "/", "--rate", "15", "--warm-up", "2s", "--trace-share", "1"}
		lasts := 10 * time.Second
		if p.quick {
			lasts = 4 * time.Second
		}
		a, err := p.analyse(ctx, found, seed, lasts, 4, 2, arguments...)
		if err != nil {
			return err
		}
		found.addServices("base", base, a, func(c lab.TraceChange) float64 { return c.Before })
		found.addServices("slow", slow, a, func(c lab.TraceChange) float64 { return c.After })
		return nil
	})
}

// addServices compares the figures of each service of a variant with the truth; pick returns the figure of
// the variant in a change.
func (t *tally) addServices(
	variant string, all []service, a lab.Analysis, pick func(lab.TraceChange) float64,
) {
	if t.silent.add(len(a.Traced) != 1); len(a.Traced) != 1 {
		return
	}
	traced := a.Traced[0]
	whole := pick(traced.Seconds)
	unexplained := whole
	for _, part := range traced.Parts {
		unexplained -= pick(part.Path)
	}
	n := traced.Before.Traces
	of := variant + ": "
	t.add(of+"time of an operation that no part has", "1", math.Abs(unexplained)/whole, n,
		figures.Goal{Must: 1e-6, Stretch: 1e-6}, "")
	for _, s := range all {
		at := slices.IndexFunc(a.Usages, func(u lab.RoleUsage) bool {
			return u.Variant == variant && u.Role == s.name
		})
		if t.silent.add(at < 0); at >= 0 {
			t.addAgainst(of+"CPU of "+s.name, a.Usages[at].CPUPerOperation, s.cpu, 0.03, n)
		}
		var self, path float64 // of the work of the service itself, without calls
		for _, part := range traced.Parts {
			if part.Service == s.name && part.Kind == lab.SegmentBusiness {
				self += pick(part.Self)
				path += pick(part.Path)
			}
		}
		t.addAgainst(of+"self time of "+s.name, self, s.own, 0.02, n)
		if s.offPath {
			t.add(of+"share of "+s.name+" on the critical path, which it is not on", "1", path/whole, n,
				figures.Goal{Must: 0.02}, "")
			continue
		}
		t.addAgainst(of+"critical path in "+s.name, path, s.own, 0.02, n)
	}
}

// addAgainst compares seconds with their truth, from which they may differ by the share most.
func (t *tally) addAgainst(name string, got float64, truth time.Duration, most float64, traces int) {
	t.add(name+": off by", "1", math.Abs(got/truth.Seconds()-1), traces,
		figures.Goal{Must: most, Stretch: most / 2}, fmt.Sprintf("%.4g ms; truth %v", 1e3*got, truth))
}

// playBottleneck searches for the slow service with `cleave bottleneck`.
func playBottleneck(ctx context.Context, p player, seed uint64, found *tally) error {
	return p.inContainers(map[string][]service{"queue": slowService()}, func(dir string) error {
		arguments := []string{"bottleneck", filepath.Join(dir, "queue.yaml"), "--path", "/", "--users", "8",
			"--cpu", "1", "--warm-up", "1s", "--trace-share", "1"}
		a, err := p.analyse(ctx, found, seed, 4*time.Second, 4, 3, arguments...)
		if err != nil {
			return err
		}
		found.addBottleneck("cart", a)
		return nil
	})
}

// addBottleneck counts whether doubling the slow service is found to help most.
func (t *tally) addBottleneck(slow string, a lab.Analysis) {
	known := len(a.Bottlenecks) == 1 && len(a.Bottlenecks[0].Doubled) > 0
	if t.silent.add(!known); !known {
		return
	}
	best := a.Bottlenecks[0].Doubled[0]
	t.named.add(best.Unit == slow && best.Verdict == lab.Faster)
}
