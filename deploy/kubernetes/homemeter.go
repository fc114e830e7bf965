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
	// kubeletPatience is how long a kubelet may take to look at a container again: it looks every 10 s, of
	// idle ones every 15 s, and waits for up to as long again.
	kubeletPatience = 45 * time.Second
	// kubeletAgain is when it is asked again whether it has.
	kubeletAgain = time.Second
	// kubeletSample is how often it is asked for memory while the load lasts.
	kubeletSample = 5 * time.Second
)

// Meter implements lab.Deployment.
func (d *deployment) Meter() lab.Meter {
	if d.cluster.private == nil {
		return kubeletMeter{Meter: d.SelfMeter(), api: d.cluster.API, deployment: d}
	}
	return nil
}

// kubeletMeter meters units that do not say what they use, by what the kubelets of their nodes count.
type kubeletMeter struct {
	lab.Meter  // of all other units
	api        *api.Client
	deployment *deployment
}

// Watch implements lab.Meter.
func (m kubeletMeter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	said, err := m.Meter.Watch(ctx, units)
	if err != nil {
		return nil, err
	}
	d := m.deployment
	counts := &kubeletMetering{Metering: said, ctx: ctx, api: m.api, cluster: d.cluster,
		byPod: map[string]*kubeletCount{}, stop: func() {}}
	for _, unit := range units {
		if p := d.Named(unit.Name); p != nil && p.Spec.Foreign {
			counts.byPod[p.name] = &kubeletCount{unit: unit.Name, node: d.nodeOf(p)}
		}
	}
	if len(counts.byPod) == 0 {
		return said, nil
	}
	for node, err := range counts.read() {
		counts.giveUp(func(c *kubeletCount) bool { return c.node == node }, counts.reason(node, err))
	}
	return counts, nil
}

// kubeletMetering implements lab.Metering. The counters are read after the units are ready and before the
// load, and after it: so all that it cost is between them, though a kubelet looks when it wants to.
type kubeletMetering struct {
	lab.Metering // of the units that say what they use
	ctx          context.Context
	api          *api.Client
	cluster      *cluster

	mu     sync.Mutex
	byPod  map[string]*kubeletCount
	opened bool
	stop   func() // ends sampling
}

// kubeletCount is what a kubelet has counted of the container of one unit.
type kubeletCount struct {
	unit, node string
	why        string // nothing can be told of it; "": something can
	last       kubeletLook
	opening    kubeletLook
	memory     []int64 // from the opening look on
}

// kubeletLook is what a kubelet had counted when it looked.
type kubeletLook struct {
	at     time.Time // of its node's clock
	used   time.Duration
	memory int64
}

// reason returns why the kubelet of a node says nothing, and what to do.
func (m *kubeletMetering) reason(node string, err error) string {
	if api.Forbidden(err) {
		return fmt.Sprintf("the cluster %s does not let you read what its nodes count: have its administrator "+
			"give you a ClusterRole with the rule {apiGroups: [\"\"], resources: [nodes/proxy], verbs: [get]} "+
			"(docs/deploying.md)", m.cluster.name)
	}
	return fmt.Sprintf("the kubelet of node %s says nothing of its containers: %v", node, err)
}

// giveUp has nothing told of some units.
func (m *kubeletMetering) giveUp(of func(*kubeletCount) bool, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.byPod {
		if c.why == "" && of(c) {
			c.why = why
		}
	}
}

// read asks the kubelets of all units that something can be told of, and returns what failed by node.
func (m *kubeletMetering) read() (failed map[string]error) {
	m.mu.Lock()
	nodes := map[string]bool{}
	for _, c := range m.byPod {
		if c.why == "" {
			nodes[c.node] = true
		}
	}
	m.mu.Unlock()
	failed = map[string]error{}
	for node := range nodes {
		pods, err := m.api.Stats(m.ctx, node)
		if err != nil {
			failed[node] = err
		}
		m.hear(pods)
	}
	return failed
}

// hear takes in what a kubelet says of all pods of its node.
func (m *kubeletMetering) hear(pods []api.PodStats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pod := range pods {
		c := m.byPod[pod.PodRef.Name]
		if c == nil || pod.PodRef.Namespace != m.cluster.namespace {
			continue
		}
		for _, container := range pod.Containers { // the others prepare it
			at, used := container.CPU.Time, container.CPU.UsageCoreNanoSeconds
			memory := container.Memory.WorkingSetBytes
			if container.Name != unitContainer || used == nil || memory == nil || !at.After(c.last.at) {
				continue
			}
			c.last = kubeletLook{at, time.Duration(*used), *memory}
			c.memory = append(c.memory, *memory)
		}
	}
}

// awaitLook waits until the kubelets have looked at all containers since they were last read. Of those that
// are not looked at nothing is told.
func (m *kubeletMetering) awaitLook() error {
	m.mu.Lock()
	before := map[*kubeletCount]time.Time{}
	for _, c := range m.byPod {
		before[c] = c.last.at
	}
	m.mu.Unlock()
	isOld := func(c *kubeletCount) bool { return c.why == "" && !c.last.at.After(before[c]) }
	for end := time.Now().Add(kubeletPatience); ; {
		failed := m.read()
		m.mu.Lock()
		waits := slices.ContainsFunc(slices.Collect(maps.Values(m.byPod)), isOld)
		m.mu.Unlock()
		if !waits {
			return nil
		}
		if time.Now().After(end) {
			for node, err := range failed {
				m.giveUp(func(c *kubeletCount) bool { return isOld(c) && c.node == node }, m.reason(node, err))
			}
			m.giveUp(isOld, fmt.Sprintf("the kubelet of its node has not looked at it for %v", kubeletPatience))
			return nil
		}
		select {
		case <-m.ctx.Done():
			return context.Cause(m.ctx)
		case <-time.After(kubeletAgain):
		}
	}
}

// Mark implements lab.Metering. The first look after Watch is that before the load.
func (m *kubeletMetering) Mark() error {
	if !m.opened {
		m.opened = true
		if err := m.awaitLook(); err != nil {
			return err
		}
		for _, c := range m.byPod {
			c.opening, c.memory = c.last, []int64{c.last.memory}
		}
		m.sample()
		return m.Metering.Mark()
	}
	if err := m.Metering.Mark(); err != nil {
		return err
	}
	m.stop()
	_ = m.read() // what they have looked at by now is not enough
	return m.awaitLook()
}

// sample reads memory now and then, until stop.
func (m *kubeletMetering) sample() {
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
			case <-time.After(kubeletSample):
				_ = m.read() // who says nothing now may do so later
			}
		}
	}()
}

// Stop implements lab.Metering.
func (m *kubeletMetering) Stop() (lab.Metered, error) {
	m.stop()
	used, err := m.Metering.Stop()
	if err != nil {
		return used, err
	}
	byUnit, longer := map[string]*kubeletCount{}, 0.0
	for _, c := range m.byPod {
		byUnit[c.unit] = c
	}
	used.Total, used.Roles = lab.Usage{}, map[string]lab.Usage{}
	used.IdleSeconds = 0 // no kubelet looks twice before the load
	for i := range used.Units {
		u := &used.Units[i]
		u.IdleCores = 0
		if c := byUnit[u.Unit.Name]; c != nil {
			u.Usage = c.usage()
			used.Sources[u.Unit.Role] = "what the kubelet of its node has counted, from a look before the load " +
				"until one after it; memory is the working set, at each of its looks"
			if c.why != "" {
				used.Sources[u.Unit.Role] = "nothing: " + c.why
				used.Notes = append(used.Notes, fmt.Sprintf("unit %s is not metered: %s", c.unit, c.why))
			}
			longer = max(longer, c.last.at.Sub(c.opening.at).Seconds()-used.WindowSeconds)
		}
		used.Total = fleet.Plus(used.Total, u.Usage)
		used.Roles[u.Unit.Role] = fleet.Plus(used.Roles[u.Unit.Role], u.Usage)
	}
	if longer > 0 {
		used.Notes = append(used.Notes, fmt.Sprintf("the kubelets' looks were up to %.0f s further apart than the "+
			"load lasted: what units used then, while nobody asked anything of them, is in their figures", longer))
	}
	return used, nil
}

// usage returns what the unit has used between the look before the load and the one after it.
func (c *kubeletCount) usage() lab.Usage {
	why, seconds := c.why, (c.last.used - c.opening.used).Seconds()
	if why == "" && seconds < 0 {
		why = "its container was started again meanwhile, and its kubelet counts anew"
	}
	if why != "" {
		return lab.Usage{Units: 1, Unavailable: map[string]string{"cpu_seconds": why, "peak_memory_bytes": why}}
	}
	used := lab.Usage{Units: 1, CPUSeconds: seconds, PeakMemoryBytes: slices.Max(c.memory),
		Unavailable: map[string]string{}}
	for _, memory := range c.memory {
		used.MeanMemoryBytes += memory / int64(len(c.memory))
	}
	for _, untold := range []string{"user_seconds", "system_seconds", "voluntary_context_switches",
		"involuntary_context_switches", "threads", "peak_resident_bytes", "read_bytes", "written_bytes"} {
		used.Unavailable[untold] = "no kubelet tells it"
	}
	return used
}
