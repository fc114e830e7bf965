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
	// kubeletPatience limits the wait for kubelets at a mark. A kubelet looks at a container every 10 s, at an
	// idle one every 15 s, and may wait for as long again.
	kubeletPatience = 45 * time.Second
	// MarksPatience limits the waits for kubelets at both marks of a trial.
	MarksPatience = 2 * kubeletPatience
	// kubeletAnswer limits one answer of a kubelet.
	kubeletAnswer = 10 * time.Second
	// kubeletsAtOnce limits the kubelets that are asked at the same time.
	kubeletsAtOnce = 64
	// kubeletAgain is the pause before kubelets are asked again whether they have looked.
	kubeletAgain = time.Second
	// kubeletSample is the pause between questions for memory while the load lasts.
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

// Watch implements lab.Meter. Kubelets are asked from the first mark on.
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
	idled  time.Duration // before the load, until the kubelets had looked
	stop   func()        // ends sampling
}

// kubeletCount holds the counts of a kubelet for the container of one unit.
type kubeletCount struct {
	unit, node string
	why        string // nothing can be told of it; "": something can
	last       kubeletLook
	opening    kubeletLook
	memory     []int64 // from the opening look on
}

// kubeletLook holds the counts of one look.
type kubeletLook struct {
	at     time.Time // of its node's clock
	used   time.Duration
	memory int64
}

// read asks the kubelets of all units that something can be told of, and returns by node why one said
// nothing. A kubelet that may not be asked is given up, any other may answer later.
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
			for _, c := range m.byPod {
				if c.node == node && c.why == "" && api.Forbidden(err) {
					c.why = fmt.Sprintf("the cluster %s does not let you read what its nodes count: have its "+
						"administrator give you a ClusterRole with the rule {apiGroups: [\"\"], resources: [nodes/proxy], "+
						"verbs: [get]} (docs/deploying.md)", m.cluster.name)
				}
			}
			m.hear(pods)
			return nil
		})
	return silent
}

// hear takes in what a kubelet says of all pods of its node. The mutex is held.
func (m *kubeletMetering) hear(pods []api.PodStats) {
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

// awaitLook waits until the kubelets have looked at all containers again from now on.
func (m *kubeletMetering) awaitLook() error {
	ctx, cancel := context.WithTimeoutCause(m.ctx, kubeletPatience,
		fmt.Errorf("no answer in %v", kubeletPatience))
	defer cancel()
	known := map[*kubeletCount]time.Time{}
	for silent := m.read(ctx); m.lacksLook(known, silent, ctx.Err() != nil); {
		select {
		case <-ctx.Done():
		case <-time.After(kubeletAgain):
			silent = m.read(ctx)
		}
	}
	return context.Cause(m.ctx)
}

// lacksLook reports whether a kubelet has not looked yet at a container since its first answer. known holds
// the looks of first answers, silent what went wrong with the last ones by node. When it is late, containers
// without a look are given up.
func (m *kubeletMetering) lacksLook(
	known map[*kubeletCount]time.Time, silent map[string]error, late bool,
) (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.byPod {
		before, answered := known[c]
		err := silent[c.node]
		switch {
		case c.why != "" || answered && c.last.at.After(before):
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

// Mark implements lab.Metering. Of each container, the look before the load counts, and the one after it.
func (m *kubeletMetering) Mark() error {
	if !m.opened {
		m.opened = true
		begun := time.Now()
		if err := m.awaitLook(); err != nil {
			return err
		}
		m.idled = time.Since(begun)
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
				_ = m.read(ctx) // who says nothing now may do so later
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
			if c.why == "" {
				longer = max(longer, c.last.at.Sub(c.opening.at).Seconds()-used.WindowSeconds)
			} else {
				used.Sources[u.Unit.Role] = "nothing: " + c.why
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
