package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/lab"
)

// accounts compare the figures of metrics-server for pods with the counts of their control groups.
type accounts struct {
	mu     sync.Mutex
	byPod  map[string]*account
	asking error // why the last question had no answer
}

func newAccounts() *accounts { return &accounts{byPod: map[string]*account{}} }

// account is that of one pod.
type account struct {
	unit    string
	counted []count // oldest first
	said    []saying
}

// count holds the processor time that a control group has counted until a moment.
type count struct {
	at   time.Time
	used time.Duration
}

// saying is one figure of metrics-server, the mean over a window.
type saying struct {
	begin, end, heard time.Time
	cores             float64
}

// accountEvery is how often metrics-server is asked whether it has something new, and so
// how exactly its lag is known.
const accountEvery = time.Second

// account follows the trial's pods until it ends. An answer that does not come is no
// matter of the trial's: metrics-server may not have looked yet.
func (d *deployment) account() {
	if private.MissingMetrics() != nil || d.cluster.private == nil {
		return
	}
	for tick := time.NewTicker(accountEvery); ; {
		select {
		case <-d.Watching.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		for _, p := range d.All() {
			p.count()
		}
		ctx, cancel := context.WithTimeout(d.Watching, accountEvery)
		said, err := d.cluster.API.Metrics(ctx, d.cluster.namespace, "trial="+d.trial)
		cancel()
		d.accounts.hear(said, err, time.Now())
	}
}

// count notes what the pod's control group has counted until now, while it runs.
func (p *pod) count() {
	d := p.deployment
	d.mu.Lock()
	name, node, container := p.name, p.node, p.container
	d.mu.Unlock()
	if node == nil {
		return
	}
	used, err := node.CPU(container)
	if err != nil { // it has ended
		return
	}
	a := d.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byPod[name] == nil {
		a.byPod[name] = &account{unit: p.Spec.Name}
	}
	a.byPod[name].counted = append(a.byPod[name].counted, count{time.Now(), used})
}

// hear takes in an answer of metrics-server, which repeats itself until it has looked again.
func (a *accounts) hear(all []api.PodMetrics, err error, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = err
	for _, m := range all {
		of := a.byPod[m.Metadata.Name]
		cores, window, err := m.CPU()
		if err != nil {
			a.asking = err
			continue
		}
		if of == nil || len(of.said) > 0 && !m.Timestamp.After(of.said[len(of.said)-1].end) {
			continue
		}
		of.said = append(of.said, saying{begin: m.Timestamp.Add(-window), end: m.Timestamp, heard: now,
			cores: cores})
	}
}

// Accounts implements lab.Deployment.
func (d *deployment) Accounts(from, to time.Time) (said []lab.PlatformUsage, note string) {
	if d.cluster.private == nil {
		return nil, "what metrics-server of " + d.cluster.name +
			" says is not asked: units say what they have used, or the kubelets do"
	}
	if err := private.MissingMetrics(); err != nil {
		return nil, "Kubernetes does not say what pods use: " + err.Error()
	}
	d.accounts.mu.Lock()
	defer d.accounts.mu.Unlock()
	byUnit := map[string]lab.PlatformUsage{}
	for _, a := range d.accounts.byPod {
		a.add(byUnit, from, to)
	}
	for _, p := range d.All() {
		sum, is := byUnit[p.Spec.Name]
		if !is {
			continue
		}
		n := float64(sum.Samples)
		sum.Unit, sum.Role, sum.Source = p.Spec.Name, p.Spec.Role, "metrics-server"
		sum.WindowSeconds, sum.Millicores = sum.WindowSeconds/n, sum.Millicores/n
		sum.GroupMillicores, sum.LagSeconds = sum.GroupMillicores/n, sum.LagSeconds/n
		said = append(said, sum)
	}
	if len(said) > 0 {
		return said, ""
	}
	note = fmt.Sprintf("metrics-server said nothing of the load while it lasted, %.0f s: it looks every %d s "+
		"and says what was before",
		to.Sub(from).Seconds(), private.MetricsResolution)
	if err := d.accounts.asking; err != nil {
		note += fmt.Sprintf(" (last answer: %v)", err)
	}
	return nil, note
}

// add adds up what was said of windows of which the larger part lies between two moments,
// and in which the control group was read.
func (a *account) add(byUnit map[string]lab.PlatformUsage, from, to time.Time) {
	for _, s := range a.said {
		middle := s.begin.Add(s.end.Sub(s.begin) / 2)
		begin, known := a.until(s.begin)
		end, ended := a.until(s.end)
		if !known || !ended || middle.Before(from) || middle.After(to) {
			continue
		}
		sum := byUnit[a.unit]
		sum.Samples++
		sum.WindowSeconds += s.end.Sub(s.begin).Seconds()
		sum.Millicores += 1000 * s.cores
		sum.MostMillicores = max(sum.MostMillicores, 1000*s.cores)
		sum.GroupMillicores += 1000 * (end - begin).Seconds() / s.end.Sub(s.begin).Seconds()
		sum.LagSeconds += s.heard.Sub(middle).Seconds()
		byUnit[a.unit] = sum
	}
}

// until returns what the control group had counted by a moment, between two readings in
// proportion; false: nobody read it before, or after.
func (a *account) until(at time.Time) (time.Duration, bool) {
	for i := 1; i < len(a.counted); i++ {
		before, after := a.counted[i-1], a.counted[i]
		if at.Before(before.at) || at.After(after.at) {
			continue
		}
		part := at.Sub(before.at).Seconds() / after.at.Sub(before.at).Seconds()
		return before.used + time.Duration(part*float64(after.used-before.used)), true
	}
	return 0, false
}
