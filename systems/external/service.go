package external

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/shell"
)

// supportedKeys returns the keys of a service that its unit supports, followed by those that trials can
// ignore. A service with any other key cannot be a unit.
func supportedKeys() []string {
	return []string{"build", "cap_add", "cap_drop", "command", "configs", "container_name", "cpus", "depends_on",
		"deploy", "entrypoint", "environment", "env_file", "expose", "extra_hosts", "healthcheck", "hostname",
		"image", "init", "links", "mem_limit", "networks", "pid", "ports", "privileged", "read_only", "restart",
		"scale", "secrets", "security_opt", "shm_size", "stop_signal", "sysctls", "tmpfs", "tty", "ulimits", "user",
		"volumes", "working_dir",
		"annotations", "attach", "develop", "labels", "label_file", "logging", "mem_reservation", "profiles",
		"pull_policy", "stdin_open", "stop_grace_period"}
}

// serviceReader reads a service of a compose file into a unit. file is the whole compose file. What the unit
// cannot hold, such as ports that are published, limits and risks, goes into the project.
type serviceReader struct {
	*project
	file *types.Project
	types.ServiceConfig
	unit lab.SystemService
}

// addObstacle adds a key that keeps the service from being a unit, and why unless that is empty.
func (s *serviceReader) addObstacle(key, why string) {
	if why != "" {
		key += " (" + why + ")"
	}
	s.project.addObstacle("service %s: %s", s.Name, key)
}

// risk adds a power over this host that the service has.
func (s *serviceReader) risk(format string, args ...any) {
	s.risks = append(s.risks, "service "+s.Name+": "+fmt.Sprintf(format, args...))
}

// read fills in the unit.
func (s *serviceReader) read() {
	s.unit = lab.SystemService{Name: s.Name, Image: s.Image, After: slices.Sorted(maps.Keys(s.DependsOn)),
		Restarts: s.restarts()}
	if s.Build != nil {
		s.readBuild()
	}
	c := &s.unit.Container
	c.Entrypoint = s.Entrypoint
	c.Command = s.Command
	if s.Entrypoint != nil && len(s.Entrypoint) == 0 {
		c.Entrypoint = []string{""} // no entrypoint; an empty list would leave that of the image
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if value := s.Environment[name]; value != nil {
			c.Env = append(c.Env, name+"="+*value)
		}
	}
	c.User = s.User
	c.Dir = s.WorkingDir
	c.Hostname = s.Hostname
	c.StopSignal = s.StopSignal
	c.Hosts = s.ExtraHosts.AsList(":")
	c.CapAdd = s.CapAdd
	c.CapDrop = s.CapDrop
	c.SecurityOpt = s.SecurityOpt
	c.Sysctls = s.Sysctls
	c.ShmSize = int64(s.ShmSize)
	c.Privileged = s.Privileged
	c.ReadOnly = s.ReadOnly
	c.Terminal = s.Tty
	c.Init = s.Init != nil && *s.Init
	c.HostPID = s.Pid == "host"
	for _, name := range slices.Sorted(maps.Keys(s.Ulimits)) {
		limit := s.Ulimits[name]
		c.Ulimits = append(c.Ulimits, lab.Ulimit{Name: name, Soft: int64(cmp.Or(limit.Soft, limit.Single)),
			Hard: int64(cmp.Or(limit.Hard, limit.Single))})
	}
	s.readNames()
	s.readPorts()
	s.readHealth()
	s.readMounts()
	s.readScale()
	s.findRisks()
	s.findUnsupported()
}

// restarts reports whether docker compose starts the service again when it ends with an error.
func (s *serviceReader) restarts() bool {
	if s.Deploy != nil && s.Deploy.RestartPolicy != nil {
		return s.Deploy.RestartPolicy.Condition != "none"
	}
	return s.Restart != "" && s.Restart != types.RestartPolicyNo
}

// readBuild reads the build of the service: the name that docker compose gives its image, and a command that
// builds it.
func (s *serviceReader) readBuild() {
	s.unit.Image = cmp.Or(s.Image, s.file.Name+"-"+s.Name)
	command := s.buildCommand()
	s.builds[s.unit.Image] = Build{command, s.file.Environment.Values()}
	s.unit.Install = shell.Quote(command...)
}

// buildCommand returns the command that builds the image of the unit.
func (s *serviceReader) buildCommand() []string {
	b := s.Build
	command := []string{"docker", "build", "--tag", s.unit.Image}
	hidden := slices.ContainsFunc(slices.Collect(maps.Keys(b.Args)), secret.Named) // the plan shows the command
	simple := types.BuildConfig{Context: b.Context, Dockerfile: b.Dockerfile, Target: b.Target, Args: b.Args}
	if hidden || !reflect.DeepEqual(*b, simple) { // docker compose knows all other keys
		return []string{"docker", "compose", "--file", s.file.ComposeFiles[0], "build", s.Name}
	}
	switch {
	case b.Dockerfile == "" || b.Dockerfile == "Dockerfile":
	case filepath.IsAbs(b.Context):
		command = append(command, "--file", within(b.Context, b.Dockerfile))
	default: // the context is the URL of a repository, which has the file
		command = append(command, "--file", b.Dockerfile)
	}
	if b.Target != "" {
		command = append(command, "--target", b.Target)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if value := b.Args[name]; value != nil {
			command = append(command, "--build-arg", name+"="+*value)
		}
	}
	return append(command, b.Context)
}

// readNames reads the other names of the service on the network.
func (s *serviceReader) readNames() {
	names := []string{}
	add := func(name string) {
		if name != "" && name != s.Name && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(s.ContainerName)
	for _, network := range slices.Sorted(maps.Keys(s.Networks)) {
		if at := s.Networks[network]; at != nil {
			for _, alias := range at.Aliases {
				add(alias)
			}
		}
	}
	for _, link := range s.Links {
		if to, alias, aliased := strings.Cut(link, ":"); aliased && to != alias {
			s.addObstacle("links", link+": give it the alias "+alias+" in networks")
		}
	}
	s.unit.Container.Names = names
}

// readPorts reads the exposed and the published ports.
func (s *serviceReader) readPorts() {
	s.anyPort = s.anyPort || s.NetworkMode == "host"
	for _, text := range s.Expose {
		ports, protocol, _ := strings.Cut(text, "/")
		if s.noteIfNotTCP(s.Name, ports, protocol) {
			continue
		}
		s.expose(ports)
	}
	for _, port := range s.Ports {
		if s.noteIfNotTCP(s.Name, strconv.Itoa(int(port.Target)), port.Protocol) {
			continue
		}
		entry := entryPoint{service: s.Name, port: int(port.Target), published: port.Published}
		if strings.Contains(entry.published, "-") { // Docker chooses one of a range
			entry.published = ""
			s.anyPort = true
		}
		if !slices.Contains(s.entryPoints, entry) {
			s.entryPoints = append(s.entryPoints, entry)
		}
		s.unit.Port = cmp.Or(s.unit.Port, entry.port)
		addPort(&s.unit, entry.port, entry.port)
		if len(s.unit.Container.Ports) > maxPorts {
			s.addObstacle("ports", fmt.Sprintf("more than %d ports: name those that others call", maxPorts))
			s.anyPort = true
			return
		}
	}
}

// maxPorts limits the TCP ports of a service, exposed and published.
const maxPorts = 1000

// expose adds an exposed port, or a range of them such as 7-9.
func (s *serviceReader) expose(ports string) {
	low, high, _ := strings.Cut(ports, "-")
	first, err := strconv.ParseUint(low, 10, 16)
	last, errLast := strconv.ParseUint(cmp.Or(high, low), 10, 16)
	switch {
	case err != nil || errLast != nil:
		s.addObstacle("expose", ports+" is no port")
		return
	case last < first:
		s.addObstacle("expose", fmt.Sprintf("%s ends before it begins: write %s-%s", ports, high, low))
		return
	case len(s.unit.Container.Ports)+int(last-first) >= maxPorts:
		s.addObstacle("expose", fmt.Sprintf("with %s more than %d ports: name those that others call", ports,
			maxPorts))
		return
	}
	for port := int(first); port <= int(last); port++ {
		addPort(&s.unit, port, port)
	}
}

// noteIfNotTCP reports whether a port has another protocol than TCP, and adds a note if so.
func (p *project) noteIfNotTCP(service, port, protocol string) bool {
	if isTCP(protocol) {
		return false
	}
	note := fmt.Sprintf("service %s: port %s/%s gets no load, and on kubernetes no other service reaches it",
		service, port, strings.ToLower(protocol))
	if !p.noted[note] {
		p.noted[note] = true
		p.notes = append(p.notes, note)
	}
	return true
}

// isTCP reports whether a protocol, as written at a port, is TCP, which is the default.
func isTCP(protocol string) bool { return protocol == "" || strings.EqualFold(protocol, "tcp") }

// addPort adds a port at which others call a service, and the port of its container that this leads to.
func addPort(unit *lab.SystemService, port, target int) {
	at := lab.ContainerPort{Port: port, Target: target}
	if !slices.Contains(unit.Container.Ports, at) {
		unit.Container.Ports = append(unit.Container.Ports, at)
	}
}

// readHealth reads the health check.
func (s *serviceReader) readHealth() {
	h := s.HealthCheck
	if h == nil {
		return
	}
	isNone := len(h.Test) > 0 && h.Test[0] == "NONE"
	if isNone || h.Disable {
		s.unit.Container.Health = &lab.HealthCheck{Test: []string{"NONE"}}
		return
	}
	seconds := func(d *types.Duration) float64 {
		if d == nil {
			return 0
		}
		return time.Duration(*d).Seconds()
	}
	check := lab.HealthCheck{Test: h.Test, Interval: seconds(h.Interval), Timeout: seconds(h.Timeout),
		StartPeriod: seconds(h.StartPeriod), StartInterval: seconds(h.StartInterval)}
	if h.Retries != nil {
		check.Retries = int(*h.Retries)
	}
	s.unit.Container.Health = &check
	s.unit.Healthy = true
}

// readMounts reads volumes, secrets and configs.
func (s *serviceReader) readMounts() {
	c := &s.unit.Container
	for _, v := range s.Volumes {
		mount := lab.ContainerMount{Kind: lab.MountKind(v.Type), Source: v.Source, Target: v.Target,
			ReadOnly: v.ReadOnly}
		named := s.file.Volumes[v.Source]
		hasDriver := named.Driver != "" && named.Driver != "local"
		options := cmp.Or(v.Volume, &types.ServiceVolumeVolume{})
		switch {
		case v.Type == types.VolumeTypeTmpfs:
			if v.Tmpfs != nil && v.Tmpfs.Size > 0 {
				mount.Options = fmt.Sprintf("size=%d", v.Tmpfs.Size)
			}
		case v.Type == types.VolumeTypeBind:
			s.checkBind(v.Source)
		case v.Type != types.VolumeTypeVolume:
			s.addObstacle("volumes", v.Target+" is of the type "+v.Type)
		case bool(named.External) || hasDriver || len(named.DriverOpts) > 0:
			s.addObstacle("volumes", v.Source+" is external, or has a driver or options")
			if device := named.DriverOpts["device"]; device != "" {
				s.checkBind(device)
			}
		case options.NoCopy || options.Subpath != "":
			s.addObstacle("volumes", v.Source+" has nocopy or subpath")
		}
		c.Mounts = append(c.Mounts, mount)
	}
	for _, t := range s.Tmpfs {
		target, options, _ := strings.Cut(t, ":")
		c.Mounts = append(c.Mounts, lab.ContainerMount{Kind: lab.MountMemory, Target: target, Options: options})
	}
	for _, one := range s.Secrets {
		s.fileMount("secrets", one.Source, s.file.Secrets[one.Source].File,
			within("/run/secrets", cmp.Or(one.Target, one.Source)))
	}
	for _, one := range s.Configs {
		s.fileMount("configs", one.Source, s.file.Configs[one.Source].File,
			within("/", cmp.Or(one.Target, one.Source)))
	}
}

// fileMount mounts a secret or a config, which has to be a file.
func (s *serviceReader) fileMount(key, name, path, target string) {
	if path == "" {
		s.addObstacle(key, name+" is no file")
		return
	}
	s.checkBind(path)
	s.unit.Container.Mounts = append(s.unit.Container.Mounts,
		lab.ContainerMount{Kind: lab.MountBind, Source: path, Target: target, ReadOnly: true})
}

// checkBind adds a risk if a mounted file or folder is Docker's socket or outside of the project's folder.
func (s *serviceReader) checkBind(path string) {
	folder := resolved(s.file.WorkingDir)
	mounted := resolved(path)
	fromFolder, _ := filepath.Rel(folder, mounted) // "", which is not local, if the mounted path is relative
	switch {
	case strings.HasSuffix(mounted, "docker.sock"):
		s.risk("mounts Docker's socket %s, which has the powers of root", path)
	case !filepath.IsLocal(fromFolder):
		s.risk("mounts %s, which is outside of the project's folder %s", path, s.file.WorkingDir)
	}
}

// resolved returns a path without symbolic links, if it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// readScale reads the replicas and the limits of the service.
func (s *serviceReader) readScale() {
	if n := s.GetScale(); n != 1 {
		s.replicas[s.Name] = n
		if n < 1 || n > lab.MaxReplicas {
			s.addObstacle("replicas", fmt.Sprintf("%d: a unit runs 1 to %d times", n, lab.MaxReplicas))
		}
	}
	limits := lab.Limits{CPU: asWritten(s.CPUS), Memory: int64(s.MemLimit)}
	if s.Deploy != nil {
		if most := s.Deploy.Resources.Limits; most != nil {
			limits.CPU = cmp.Or(asWritten(float32(most.NanoCPUs)), limits.CPU)
			limits.Memory = cmp.Or(int64(most.MemoryBytes), limits.Memory)
			if most.Pids != 0 || len(most.Devices) > 0 {
				s.addObstacle("deploy.resources.limits", "pids or devices")
			}
		}
		reserved := s.Deploy.Resources.Reservations
		if reserved != nil && len(reserved.Devices)+len(reserved.GenericResources) > 0 {
			s.addObstacle("deploy.resources.reservations", "devices")
		}
	}
	if limits != (lab.Limits{}) {
		s.limits[s.Name] = limits
	}
}

// asWritten returns a number of a compose file, which compose-go rounds to float32, as the file has it.
func asWritten(number float32) float64 {
	written, _ := strconv.ParseFloat(strconv.FormatFloat(float64(number), 'g', -1, 32), 64) // it is a number
	return written
}

// findRisks adds the powers over this host that keys other than mounts give.
func (s *serviceReader) findRisks() {
	if s.Privileged {
		s.risk("is privileged")
	}
	if len(s.CapAdd) > 0 {
		s.risk("has the capabilities %s (cap_add)", strings.Join(s.CapAdd, ", "))
	}
	for _, option := range s.SecurityOpt {
		if !strings.HasPrefix(option, "no-new-privileges") {
			s.risk("has the security option %s", option)
		}
	}
	for _, space := range []struct{ key, value string }{{"network_mode", s.NetworkMode}, {"pid", s.Pid},
		{"ipc", s.Ipc}, {"uts", s.Uts}, {"userns_mode", s.UserNSMode}, {"cgroup", s.Cgroup}} {
		if space.value == "host" {
			s.risk("shares a namespace of this host (%s: host)", space.key)
		}
	}
	if len(s.Devices) > 0 || s.UseAPISocket || s.Provider != nil {
		s.risk("has devices, Docker's socket or a program of this host (devices, use_api_socket, provider)")
	}
}

// findUnsupported adds the keys that units do not support as obstacles.
func (s *serviceReader) findUnsupported() {
	var keys map[string]any
	text, err := json.Marshal(s.ServiceConfig)
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		s.addObstacle("it", err.Error())
		return
	}
	supported := supportedKeys()
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if keys[key] != nil && !slices.Contains(supported, key) {
			s.addObstacle(key, "")
		}
	}
	if s.Pid != "" && s.Pid != "host" {
		s.addObstacle("pid", s.Pid)
	}
	if s.unit.Image == "" {
		s.addObstacle("image", "it has none, and no build")
	} else if err := checkImage(s.unit.Image); err != nil {
		s.addObstacle("image", err.Error())
	}
}
