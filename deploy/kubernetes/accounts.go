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

// accounts compare the figures of metrics-server for pods with the counters of their control groups.
type accounts struct {
	mu    sync.Mutex
	byPod map[string]*account
	err   error // of the last request
}

func newAccounts() *accounts { return &accounts{byPod: map[string]*account{}} }

// account holds the figures of one pod.
type account struct {
	unit    string
	counted []count  // by its control group, oldest first
	figures []figure // by metrics-server, oldest first
}

// count is the processor time that a control group had counted at some time.
type count struct {
	at   time.Time
	used time.Duration
}

// figure is one figure of metrics-server: the mean number of processors used from begin to end.
type figure struct {
	begin, end time.Time
	received   time.Time // when its answer arrived
	cores      float64
}

// accountEvery is the interval at which metrics-server is asked for figures. The lag of a figure may come out
// that much too long (lab.PlatformUsage.LagSeconds).
const accountEvery = time.Second

// account collects the figures of a private cluster's pods until the trial ends. Failed requests do not fail
// the trial: metrics-server may have no figures yet.
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
		all, err := d.cluster.API.Metrics(ctx, d.cluster.namespace, labelTrial+"="+d.trial)
		cancel()
		d.accounts.add(all, err, time.Now())
	}
}

// count records the present count of the pod's control group, if the pod runs.
func (p *pod) count() {
	d := p.deployment
	d.mu.Lock()
	name := p.name
	node := p.node
	container := p.container
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

// add adds the new figures in an answer of metrics-server, received now. It repeats figures until it has new
// ones.
func (a *accounts) add(all []api.PodMetrics, err error, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
	for _, m := range all {
		pod := a.byPod[m.Metadata.Name]
		cores, window, err := m.CPU()
		if err != nil {
			a.err = err
			continue
		}
		if pod == nil || !pod.isNew(m.Timestamp) {
			continue
		}
		pod.figures = append(pod.figures, figure{begin: m.Timestamp.Add(-window), end: m.Timestamp,
			received: now, cores: cores})
	}
}

// isNew reports whether a time is later than those of all figures.
func (a *account) isNew(at time.Time) bool {
	n := len(a.figures)
	return n == 0 || at.After(a.figures[n-1].end)
}

// Accounts implements lab.Deployment. The figures of a unit are means over its samples, and the
// highest sample.
func (d *deployment) Accounts(from, to time.Time) (usage []lab.PlatformUsage, note string) {
	if d.cluster.private == nil {
		return nil, "metrics-server of " + d.cluster.name +
			" is not asked: units or kubelets report what units use"
	}
	if err := private.MissingMetrics(); err != nil {
		return nil, "Kubernetes does not report what pods use: " + err.Error()
	}
	d.accounts.mu.Lock()
	defer d.accounts.mu.Unlock()
	byUnit := map[string]lab.PlatformUsage{}
	for _, a := range d.accounts.byPod {
		a.sum(byUnit, from, to)
	}
	for _, p := range d.All() {
		sum, found := byUnit[p.Spec.Name]
		if !found {
			continue
		}
		n := float64(sum.Samples)
		sum.Unit = p.Spec.Name
		sum.Role = p.Spec.Role
		sum.Source = "metrics-server"
		sum.WindowSeconds /= n
		sum.Millicores /= n
		sum.GroupMillicores /= n
		sum.LagSeconds /= n
		usage = append(usage, sum)
	}
	if len(usage) > 0 {
		return usage, ""
	}
	note = fmt.Sprintf("metrics-server has no figures of the load, which lasted %.0f s: it reads the pods only "+
		"every %d s", to.Sub(from).Seconds(), private.MetricsResolution)
	if err := d.accounts.err; err != nil {
		note += fmt.Sprintf(" (last answer: %v)", err)
	}
	return nil, note
}

// sum adds to the usage of its unit the figures whose window has its middle between from and to, beside the
// count of the control group over the same window. It skips windows for which there is no such count.
func (a *account) sum(byUnit map[string]lab.PlatformUsage, from, to time.Time) {
	for _, f := range a.figures {
		window := f.end.Sub(f.begin)
		middle := f.begin.Add(window / 2)
		if middle.Before(from) || middle.After(to) {
			continue
		}
		begin, hasBegin := a.countAt(f.begin)
		end, hasEnd := a.countAt(f.end)
		if !hasBegin || !hasEnd {
			continue
		}
		sum := byUnit[a.unit]
		sum.Samples++
		sum.WindowSeconds += window.Seconds()
		sum.Millicores += 1000 * f.cores
		sum.MostMillicores = max(sum.MostMillicores, 1000*f.cores)
		sum.GroupMillicores += 1000 * (end - begin).Seconds() / window.Seconds()
		sum.LagSeconds += f.received.Sub(middle).Seconds()
		byUnit[a.unit] = sum
	}
}

// countAt returns the processor time that the control group had counted at some time, interpolated between
// two counts; false: there is no count before, or none after.
func (a *account) countAt(at time.Time) (time.Duration, bool) {
	for i := 1; i < len(a.counted); i++ {
		before, after := a.counted[i-1], a.counted[i]
		if at.Before(before.at) || at.After(after.at) {
			continue
		}
		between := after.at.Sub(before.at)
		part := at.Sub(before.at).Seconds() / between.Seconds()
		return before.used + time.Duration(part*float64(after.used-before.used)), true
	}
	return 0, false
}
