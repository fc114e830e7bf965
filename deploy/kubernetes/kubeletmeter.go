package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// kubeletPatience limits the wait for kubelets at a mark. A kubelet samples a container every 10 s, an idle
	// one every 15 s, and may double these intervals.
	kubeletPatience = 45 * time.Second
	// MarksPatience limits the waits for kubelets at both marks of a trial.
	MarksPatience = 2 * kubeletPatience
	// kubeletAnswer limits the time that one request to a kubelet takes.
	kubeletAnswer = 10 * time.Second
	// kubeletsAtOnce limits the kubelets that are asked at the same time.
	kubeletsAtOnce = 64
	// kubeletAgain is the pause before kubelets are asked again whether they have a new sample.
	kubeletAgain = time.Second
	// kubeletInterval is the pause between reads of memory during the load.
	kubeletInterval = 5 * time.Second
)

// kubeletSource is the source of figures of a kubelet, as in lab.Metered.Sources.
const kubeletSource = "what the kubelet of its node has counted, from a look before the load until one " +
	"after it; memory is the working set, at each of its looks"

// Meter implements lab.Deployment: on a cluster of the user's, our units report their usage and kubelets that
// of the others.
func (d *deployment) Meter() lab.Meter {
	if d.cluster.private == nil {
		return kubeletMeter{Meter: d.SelfMeter(), api: d.cluster.API, deployment: d}
	}
	return nil
}

// kubeletMeter meters foreign units, which do not report their usage, by the counters of their nodes'
// kubelets.
type kubeletMeter struct {
	lab.Meter  // of our units
	api        *api.Client
	deployment *deployment
}

// Watch implements lab.Meter. Kubelets are asked from the first mark on.
func (m kubeletMeter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	reported, err := m.Meter.Watch(ctx, units)
	if err != nil {
		return nil, err
	}
	d := m.deployment
	counts := &kubeletMetering{Metering: reported, ctx: ctx, api: m.api, cluster: d.cluster,
		byPod: map[string]*kubeletCount{}, stop: func() {}}
	for _, unit := range units {
		if p := d.Named(unit.Name); p != nil && p.Spec.Foreign {
			counts.byPod[p.name] = &kubeletCount{unit: unit.Name, node: d.nodeOf(p)}
		}
	}
	if len(counts.byPod) == 0 {
		return reported, nil
	}
	return counts, nil
}

// kubeletMetering implements lab.Metering. A kubelet samples its containers at times of its own choice. So
// each mark waits for new samples: those before the load and those after it enclose the whole load.
type kubeletMetering struct {
	lab.Metering // of our units
	ctx          context.Context
	api          *api.Client
	cluster      *cluster

	mu     sync.Mutex
	byPod  map[string]*kubeletCount
	opened bool          // the first mark was made
	idled  time.Duration // how long the first mark waited for samples
	stop   func()        // ends the reads during the load
}

// kubeletCount holds the samples of a kubelet for the container of one unit.
type kubeletCount struct {
	unit, node string
	why        string // why there are no figures; "": there may be some
	last       kubeletSample
	opening    kubeletSample // the last one before the load
	memory     []int64       // of all samples from opening on
}

// kubeletSample is one sample of a container by its kubelet.
type kubeletSample struct {
	at     time.Time     // on the clock of its node
	used   time.Duration // processor time since the container's start
	memory int64         // working set, in bytes
}

// read asks the kubelets of all units that may have figures, and returns the errors of those that did not
// answer, by node. Units of a kubelet that we may not ask are given up; any other may answer later.
func (m *kubeletMetering) read(ctx context.Context) (silent map[string]error) {
	m.mu.Lock()
	nodes := map[string]bool{}
	for _, c := range m.byPod {
		if c.why == "" {
			nodes[c.node] = true
		}
	}
	m.mu.Unlock()
	silent = map[string]error{}
	_ = fleet.ForAll(ctx, kubeletsAtOnce, slices.Collect(maps.Keys(nodes)),
		func(ctx context.Context, node string) error {
			ctx, cancel := context.WithTimeoutCause(ctx, kubeletAnswer, fmt.Errorf("no answer for %v", kubeletAnswer))
			defer cancel()
			pods, err := m.api.Stats(ctx, node)
			m.mu.Lock()
			defer m.mu.Unlock()
			if err != nil {
				silent[node] = err
			}
			if api.Forbidden(err) {
				m.giveUp(node)
			}
			m.store(pods)
			return nil
		})
	return silent
}

// giveUp records that we may not read the samples of a node. The mutex is held.
func (m *kubeletMetering) giveUp(node string) {
	for _, c := range m.byPod {
		if c.node == node && c.why == "" {
			c.why = fmt.Sprintf("the cluster %s does not let you read what its nodes count: have its "+
				"administrator give you a ClusterRole with the rule {apiGroups: [\"\"], "+
				"resources: [nodes/proxy], verbs: [get]} (docs/deploying.md)", m.cluster.name)
		}
	}
}

// store stores the new samples in the answer of a kubelet. The mutex is held.
func (m *kubeletMetering) store(pods []api.PodStats) {
	for _, pod := range pods {
		c := m.byPod[pod.PodRef.Name]
		if c == nil || pod.PodRef.Namespace != m.cluster.namespace {
			continue
		}
		for _, container := range pod.Containers { // init containers are among them
			at, used := container.CPU.Time, container.CPU.UsageCoreNanoSeconds
			memory := container.Memory.WorkingSetBytes
			if container.Name != unitContainer || used == nil || memory == nil || !at.After(c.last.at) {
				continue
			}
			c.last = kubeletSample{at, time.Duration(*used), *memory}
			c.memory = append(c.memory, *memory)
		}
	}
}

// awaitSamples waits until the kubelets have new samples of all containers, or gives these up after
// kubeletPatience. It fails only if the metering ends.
func (m *kubeletMetering) awaitSamples() error {
	ctx, cancel := context.WithTimeoutCause(m.ctx, kubeletPatience,
		fmt.Errorf("no answer in %v", kubeletPatience))
	defer cancel()
	known := map[*kubeletCount]time.Time{}
	for silent := m.read(ctx); m.lacksSamples(known, silent, ctx.Err() != nil); {
		select {
		case <-ctx.Done():
		case <-time.After(kubeletAgain):
			silent = m.read(ctx)
		}
	}
	return context.Cause(m.ctx)
}

// lacksSamples reports whether some container has no new sample yet. known holds the times of the samples in
// the first answers, and lacksSamples adds to it; silent holds the errors of the last requests, by node. late
// says that the wait is over: then containers without a new sample are given up.
func (m *kubeletMetering) lacksSamples(
	known map[*kubeletCount]time.Time, silent map[string]error, late bool,
) (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.byPod {
		before, answered := known[c]
		err := silent[c.node]
		switch {
		case c.why != "", answered && c.last.at.After(before):
		case late && err != nil:
			c.why = fmt.Sprintf("the kubelet of node %s says nothing of its containers: %v", c.node, err)
		case late:
			c.why = fmt.Sprintf("the kubelet of its node has not looked at it for %v", kubeletPatience)
		default:
			lacks = true
			if !answered && err == nil {
				known[c] = c.last.at
			}
		}
	}
	return lacks
}

// Mark implements lab.Metering. The first mark waits for the samples before the load, the second for those
// after it.
func (m *kubeletMetering) Mark() error {
	if !m.opened {
		m.opened = true
		begun := time.Now()
		if err := m.awaitSamples(); err != nil {
			return err
		}
		m.idled = time.Since(begun)
		for _, c := range m.byPod {
			c.opening = c.last
			c.memory = []int64{c.last.memory}
		}
		m.readMemory()
		return m.Metering.Mark()
	}
	if err := m.Metering.Mark(); err != nil {
		return err
	}
	m.stop()
	return m.awaitSamples()
}

// readMemory starts to read memory every kubeletInterval, until stop is called.
func (m *kubeletMetering) readMemory() {
	ctx, cancel := context.WithCancel(m.ctx)
	done := make(chan struct{})
	m.stop = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(kubeletInterval):
				_ = m.read(ctx) // a kubelet that fails now may answer later
			}
		}
	}()
}

// Stop implements lab.Metering. It puts the kubelets' figures in the place of those of foreign units, and
// sums up again.
func (m *kubeletMetering) Stop() (lab.Metered, error) {
	m.stop()
	used, err := m.Metering.Stop()
	if err != nil {
		return used, err
	}
	byUnit := map[string]*kubeletCount{}
	longer := 0.0 // by how many seconds samples enclose more than the load
	for _, c := range m.byPod {
		byUnit[c.unit] = c
	}
	used.Total = lab.Usage{}
	used.Roles = map[string]lab.Usage{}
	used.IdleSeconds = 0 // idle usage needs two samples before the load, and there is one
	for i := range used.Units {
		u := &used.Units[i]
		u.IdleCores = 0
		if c := byUnit[u.Unit.Name]; c != nil {
			u.Usage = c.usage()
			if c.why == "" {
				used.Sources[u.Unit.Role] = kubeletSource
				longer = max(longer, c.last.at.Sub(c.opening.at).Seconds()-used.WindowSeconds)
			} else {
				if used.Sources[u.Unit.Role] != kubeletSource { // no unit of the role before has figures
					used.Sources[u.Unit.Role] = "nothing: " + c.why
				}
				used.Notes = append(used.Notes, fmt.Sprintf("unit %s is not metered: %s", c.unit, c.why))
			}
		}
		used.Total = fleet.Plus(used.Total, u.Usage)
		used.Roles[u.Unit.Role] = fleet.Plus(used.Roles[u.Unit.Role], u.Usage)
	}
	if longer > 0 {
		used.Notes = append(used.Notes, fmt.Sprintf("the kubelets' looks were up to %.0f s further apart than the "+
			"load lasted: what units used then, while nobody asked anything of them, is in their figures", longer))
	}
	if m.idled > kubeletAgain {
		used.Notes = append(used.Notes, fmt.Sprintf("the system idled for %.0f s between its warm-up and the "+
			"load: a look of its kubelets was awaited", m.idled.Seconds()))
	}
	return used, nil
}

// usage returns the usage between the last sample before the load and the last one after it. Unavailable has
// the reasons why figures are missing.
func (c *kubeletCount) usage() lab.Usage {
	why := c.why
	seconds := (c.last.used - c.opening.used).Seconds()
	if why == "" && seconds < 0 {
		why = "its container was started again meanwhile, and its kubelet counts anew"
	}
	if why != "" {
		return fleet.Unmetered(why)
	}
	used := fleet.Unmetered("no kubelet tells it")
	for _, figure := range []string{"cpu_seconds", "peak_memory_bytes", "mean_memory_bytes"} {
		delete(used.Unavailable, figure)
	}
	used.CPUSeconds = seconds
	used.PeakMemoryBytes = slices.Max(c.memory)
	for _, memory := range c.memory {
		used.MeanMemoryBytes += memory / int64(len(c.memory))
	}
	return used
}
