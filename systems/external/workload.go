package external

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// readWorkloads reads manifests as units: one per workload, or one per pod if a StatefulSet has several. It
// also makes the changes.
func readWorkloads(file string, changes map[string]*change) (*project, error) {
	m, err := readManifests(file)
	if err != nil {
		return nil, err
	}
	base := path.Base(file)
	p := &project{name: loaded.NameOf(strings.TrimSuffix(base, path.Ext(base))), replicas: map[string]int{},
		limits: map[string]lab.Limits{}, served: map[string]entryPoint{}, notes: m.notes, noted: map[string]bool{},
		changes: changes}
	for _, w := range m.workloads {
		if !p.removes(w.Metadata.Name) {
			t := translation{project: p, manifests: m, workload: w}
			t.units()
		}
	}
	services := map[string]bool{}
	units := map[string]bool{}
	for _, s := range m.services {
		if !slices.ContainsFunc(m.workloads, func(w workload) bool { return selects(s, w) }) {
			p.addObstacle("Service %s selects no workload", s.Metadata.Name)
		}
		if services[s.Metadata.Name] {
			p.addObstacle("two Services are called %s", s.Metadata.Name)
		}
		services[s.Metadata.Name] = true
	}
	for _, unit := range p.services {
		if units[unit.Name] {
			p.addObstacle("two workloads are called %s", unit.Name)
		}
		units[unit.Name] = true
	}
	p.findEntryPoints(m)
	p.findOrder()
	if err := p.change(); err != nil {
		return nil, err
	}
	return p, nil
}

// findEntryPoints adds the entry points of manifests: the backends of Ingresses or, if there are none,
// Services that are reached from outside of a cluster.
func (p *project) findEntryPoints(m *manifests) {
	exists := map[string]bool{} // the TCP ports of all Services, also of those without a unit
	for _, s := range m.services {
		for _, port := range s.Spec.Ports {
			if !isTCP(port.Protocol) {
				continue
			}
			exists[s.Metadata.Name+":"+strconv.Itoa(port.Port)] = true
			exists[s.Metadata.Name+":"+port.Name] = true
		}
	}
	add := func(service, port string) {
		at, served := p.served[service+":"+port]
		switch {
		case service == "" || port == "":
			p.addObstacle("Ingress: a backend names no Service, or no port of it: give its name or number")
		case !exists[service+":"+port]:
			p.addObstacle("Ingress: no Service %s has the port %s", service, port)
		case served && !slices.Contains(p.entryPoints, at):
			p.entryPoints = append(p.entryPoints, at)
		}
	}
	for _, i := range m.ingresses {
		if i.Spec.DefaultBackend != nil {
			add(i.Spec.DefaultBackend.servicePort())
		}
		for _, rule := range i.Spec.Rules {
			for _, one := range rule.HTTP.Paths {
				add(one.Backend.servicePort())
			}
		}
	}
	if len(m.ingresses) > 0 {
		return
	}
	for _, s := range m.services {
		if s.Spec.Type != "NodePort" && s.Spec.Type != "LoadBalancer" {
			continue
		}
		for _, port := range s.Spec.Ports {
			if isTCP(port.Protocol) {
				add(s.Metadata.Name, strconv.Itoa(port.Port))
			}
		}
	}
}

// servicePort returns the names of the Service and of its port, or the number of the port.
func (b ingressBackend) servicePort() (service, port string) {
	port = b.Service.Port.Name
	if b.Service.Port.Number != 0 {
		port = strconv.Itoa(b.Service.Port.Number)
	}
	return b.Service.Name, port
}

// selects reports whether a Service leads to a workload.
func selects(s serviceManifest, w workload) bool {
	for key, value := range s.Spec.Selector {
		if w.Spec.Template.Metadata.Labels[key] != value {
			return false
		}
	}
	return len(s.Spec.Selector) > 0
}

// translation turns a workload into units.
type translation struct {
	*project
	*manifests
	workload
	ports map[string]int // of the container that unit read last, by name
}

// addObstacle adds a reason why the workload cannot be a unit.
func (t *translation) addObstacle(format string, args ...any) {
	t.project.addObstacle("%s %s: %s", t.Kind, t.Metadata.Name, fmt.Sprintf(format, args...))
}

// units adds the units of the workload to the project.
func (t *translation) units() {
	pod := t.Spec.Template.Spec
	name := t.Metadata.Name
	replicas := 1
	if t.Spec.Replicas != nil {
		replicas = *t.Spec.Replicas
	}
	if replicas < 1 || replicas > lab.MaxReplicas {
		t.addObstacle("replicas is %d: a unit runs 1 to %d times", replicas, lab.MaxReplicas)
		return
	}
	if len(pod.Containers) != 1 {
		t.addObstacle("its pods have %d containers, and a unit is one: leave the others out", len(pod.Containers))
		return
	}
	if replicas > 1 && len(pod.InitContainers) > 0 {
		t.addObstacle("its %d pods have initContainers, which only a single pod has here: set replicas to 1",
			replicas)
	}
	after := t.initUnits()
	pods := 1 // as units
	if t.Kind == "StatefulSet" {
		pods = replicas
	}
	for i := range pods {
		unitName := name
		if pods > 1 {
			unitName += "-" + strconv.Itoa(i)
		}
		if t.removes(unitName) {
			continue
		}
		unit := t.unit(unitName, pod.Containers[0])
		unit.After = after
		unit.Finishes = t.Kind == "Job"
		unit.Restarts = pod.RestartPolicy != "Never"
		t.serve(&unit, pod.Containers[0])
		if t.Kind == "StatefulSet" {
			unit.Container.Hostname = cmp.Or(pod.Hostname, name+"-"+strconv.Itoa(i))
			if unitName != unit.Container.Hostname {
				unit.Container.Names = append(unit.Container.Names, unit.Container.Hostname)
			}
			for _, served := range t.namesOf() {
				unit.Container.Names = append(unit.Container.Names, unit.Container.Hostname+"."+served)
			}
			after = []string{unitName} // its pods start one after another
		}
		t.project.services = append(t.project.services, unit)
	}
	if pods < replicas { // one unit, with replicas
		t.replicas[name] = replicas
	}
}

// initUnits adds the units of the init containers, which run one after another, to the project. It returns
// the last one, for which the units of the pods wait; none: nil.
func (t *translation) initUnits() (after []string) {
	pod := t.Spec.Template.Spec
	for _, c := range pod.InitContainers {
		name := t.Metadata.Name + "-" + c.Name
		if t.removes(name) {
			continue
		}
		first := t.unit(name, c)
		first.After = after
		first.Finishes = true
		first.Restarts = pod.RestartPolicy != "Never"
		after = []string{first.Name}
		t.project.services = append(t.project.services, first)
	}
	return after
}

// unit returns the unit of a container.
func (t *translation) unit(name string, c podContainer) lab.SystemService {
	unit := lab.SystemService{Name: name, Image: c.Image}
	if err := checkServiceName(name); err != nil {
		t.addObstacle("%v", err)
	}
	if err := checkImage(c.Image); err != nil {
		t.addObstacle("%v", err)
	}
	pod, container := t.Spec.Template.Spec, &unit.Container
	env := t.environment(c)
	container.Entrypoint = expanded(c.Command, env)
	container.Command = expanded(c.Args, env)
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		container.Env = append(container.Env, variable+"="+env[variable])
	}
	container.Dir = c.WorkingDir
	container.Hostname = pod.Hostname
	container.Terminal = c.TTY
	for _, alias := range pod.HostAliases {
		for _, host := range alias.Hostnames {
			container.Hosts = append(container.Hosts, host+":"+alias.IP)
		}
	}
	security := c.SecurityContext
	if user := cmp.Or(security.RunAsUser, pod.SecurityContext.RunAsUser); user != nil {
		container.User = strconv.Itoa(*user)
		if group := cmp.Or(security.RunAsGroup, pod.SecurityContext.RunAsGroup); group != nil {
			container.User += ":" + strconv.Itoa(*group)
		}
	}
	container.ReadOnly = security.ReadOnlyRootFilesystem
	container.Privileged = security.Privileged
	container.CapAdd = security.Capabilities.Add
	container.CapDrop = security.Capabilities.Drop
	if security.AllowPrivilegeEscalation != nil && !*security.AllowPrivilegeEscalation {
		container.SecurityOpt = []string{"no-new-privileges"}
	}
	if container.Privileged || len(container.CapAdd) > 0 {
		t.risks = append(t.risks, fmt.Sprintf("service %s: is privileged (%t) or has capabilities (%s)", name,
			container.Privileged, strings.Join(container.CapAdd, ", ")))
	}
	t.ports = map[string]int{}
	for _, port := range c.Ports {
		t.ports[port.Name] = t.checkedPort(port.ContainerPort)
		if isTCP(port.Protocol) {
			unit.Port = cmp.Or(unit.Port, port.ContainerPort)
		}
	}
	t.limit(name, c)
	t.mount(&unit, c)
	return unit
}

// limit reads the limits of a container.
func (t *translation) limit(name string, c podContainer) {
	var limits lab.Limits
	if text := c.Resources.Limits.CPU; text != "" {
		number, milli := strings.CutSuffix(text, "m")
		cores, err := strconv.ParseFloat(number, 64)
		if milli {
			cores /= 1000
		}
		if err != nil || !isCores(cores) {
			t.addObstacle("its limit of cpu is %q, expected 500m or 0.5", text)
		}
		limits.CPU = cores
	}
	if text := c.Resources.Limits.Memory; text != "" {
		var err error
		if limits.Memory, err = parseMemory(text); err != nil {
			t.addObstacle("its limit of memory is %q, expected a size such as 256Mi, or none", text)
		}
	}
	if limits != (lab.Limits{}) {
		t.limits[name] = limits
	}
}

// namesOf returns all names of the Services that select the workload.
func (t *translation) namesOf() (names []string) {
	for _, s := range t.manifests.services {
		if !selects(s, t.workload) {
			continue
		}
		in := s.Metadata.Name + "." + cmp.Or(s.Metadata.Namespace, "default")
		names = append(names, s.Metadata.Name, in, in+".svc", in+".svc.cluster.local")
	}
	return names
}

// serve adds the names and ports of the Services that select a unit, and its probe as its health check.
// Without a probe it is healthy once its only port accepts connections. With several ports it has no health
// check, since some of them may stay closed.
func (t *translation) serve(unit *lab.SystemService, c podContainer) {
	unit.Container.Names = slices.DeleteFunc(t.namesOf(), func(name string) bool { return name == unit.Name })
	for _, s := range t.manifests.services {
		if !selects(s, t.workload) {
			continue
		}
		for _, port := range s.Spec.Ports {
			if t.noteIfNotTCP(unit.Name, strconv.Itoa(port.Port), port.Protocol) {
				continue
			}
			target := t.port(cmp.Or(port.TargetPort, strconv.Itoa(port.Port)))
			at := lab.ContainerPort{Port: t.checkedPort(port.Port), Target: target}
			if slices.ContainsFunc(unit.Container.Ports, func(p lab.ContainerPort) bool {
				return p.Port == at.Port && p.Target != at.Target
			}) {
				t.addObstacle("two Services lead from port %d to different ones", at.Port)
			}
			addPort(unit, at.Port, at.Target)
			unit.Port = cmp.Or(unit.Port, target)
			for _, word := range []string{strconv.Itoa(port.Port), port.Name} {
				name := s.Metadata.Name + ":" + word
				if _, known := t.served[name]; !known { // the load enters a StatefulSet at its first pod
					t.served[name] = entryPoint{service: unit.Name, port: target}
				}
			}
		}
	}
	switch probe := cmp.Or(c.ReadinessProbe, c.StartupProbe); {
	case probe != nil:
		unit.Container.Health = t.health(*probe)
	case len(unit.Container.Ports) == 1:
		unit.Container.Health = &lab.HealthCheck{Port: unit.Container.Ports[0].Target}
	}
	unit.Healthy = unit.Container.Health != nil
}

// port returns the number of a port, given as a number or by its name.
func (t *translation) port(text string) int {
	if number, err := strconv.Atoi(text); err == nil {
		return t.checkedPort(number)
	}
	if t.ports[text] == 0 {
		t.addObstacle("no port of its container is called %q", text)
	}
	return t.ports[text]
}

// checkedPort returns the number of a port, and adds an obstacle if no port can have it.
func (t *translation) checkedPort(number int) int {
	if number < 1 || number > maxPort {
		t.addObstacle("port %d is not from 1 to %d", number, maxPort)
	}
	return number
}

// health returns the health check of a probe.
func (t *translation) health(p probe) *lab.HealthCheck {
	check := lab.HealthCheck{Interval: float64(p.PeriodSeconds), Timeout: float64(p.TimeoutSeconds),
		Retries: p.FailureThreshold}
	switch {
	case p.Exec != nil:
		check.Test = append([]string{"CMD"}, p.Exec.Command...)
	case p.TCPSocket != nil:
		check.Port = t.port(p.TCPSocket.Port)
	case p.HTTPGet != nil:
		check.Port = t.port(p.HTTPGet.Port)
		check.Path = "/" + strings.TrimPrefix(p.HTTPGet.Path, "/")
		if p.HTTPGet.Scheme == "HTTPS" {
			t.addObstacle("its probe asks by HTTPS: use tcpSocket")
		}
	default:
		t.addObstacle("its probe has none of exec, httpGet and tcpSocket")
	}
	return &check
}
