package lab

// ContainerSpec says how to run a container of an image. The image's own values hold for what is left out.
type ContainerSpec struct {
	// Names are further DNS names by which other units find it, beside the name of its unit.
	Names []string `json:"names,omitempty"`
	// Entrypoint takes the place of the image's; a single empty word removes that.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Command    []string `json:"command,omitempty"`
	// Env has "NAME=VALUE".
	Env      []string         `json:"env,omitempty"`
	User     string           `json:"user,omitempty"`
	Dir      string           `json:"dir,omitempty"`
	Hostname string           `json:"hostname,omitempty"`
	Mounts   []ContainerMount `json:"mounts,omitempty"`
	Health   *HealthCheck     `json:"health,omitempty"`
	// Ports are those at which other units call it, as far as they are known.
	Ports []ContainerPort `json:"ports,omitempty"`
	// Hosts are entries of its /etc/hosts: "NAME:ADDRESS".
	Hosts []string `json:"hosts,omitempty"`
	// CapAdd, CapDrop and SecurityOpt are capabilities and options in the words of Docker.
	CapAdd      []string          `json:"cap_add,omitempty"`
	CapDrop     []string          `json:"cap_drop,omitempty"`
	SecurityOpt []string          `json:"security_opt,omitempty"`
	Sysctls     map[string]string `json:"sysctls,omitempty"`
	Ulimits     []Ulimit          `json:"ulimits,omitempty"`
	StopSignal  string            `json:"stop_signal,omitempty"`
	ShmSize     int64             `json:"shm_size_bytes,omitempty"`
	// Privileged containers have all powers of the host, and those with HostPID see its processes.
	Privileged bool `json:"privileged,omitempty"`
	HostPID    bool `json:"host_pid,omitempty"`
	ReadOnly   bool `json:"read_only,omitempty"` // its root file system
	Init       bool `json:"init,omitempty"`      // a process 1 of Docker's own reaps its processes
	Terminal   bool `json:"terminal,omitempty"`  // it writes to one
}

// ContainerPort is a TCP port at which a container is called, and the one that it listens on.
type ContainerPort struct {
	Port   int `json:"port"`
	Target int `json:"target"`
}

// MountKind says what is mounted.
type MountKind string

// The kinds of mounts.
const (
	// MountVolume is a volume of the trial: empty at first, but for what the image has there, and kept
	// when the unit is started again. Containers that name the same one share it; without a name it is the
	// container's own.
	MountVolume MountKind = "volume"
	// MountBind is a file or a folder of the conductor's host.
	MountBind MountKind = "bind"
	// MountMemory is a file system in memory.
	MountMemory MountKind = "tmpfs"
	// MountFiles is a folder of files that the mount has itself, or, where it names one as its source, that
	// file. The container can only read them.
	MountFiles MountKind = "files"
	// MountLeaves is the folder Storage.Leaves of the unit, to which everybody in the container may write.
	MountLeaves MountKind = "leaves"
)

// ContainerMount is a mount in a container.
type ContainerMount struct {
	Kind     MountKind `json:"kind"`
	Source   string    `json:"source,omitempty"` // the name of the volume or file, or the path
	Target   string    `json:"target"`
	ReadOnly bool      `json:"read_only,omitempty"`
	Options  string    `json:"options,omitempty"` // of a tmpfs, such as size=64m
	// Files are the texts of MountFiles by their names, and Executable says that all of them are programs.
	Files      map[string]string `json:"files,omitempty"`
	Executable bool              `json:"executable,omitempty"`
}

// HealthCheck is a command that runs in a container again and again and says whether that is healthy. Times
// are in seconds; 0 is what the image or Docker says.
type HealthCheck struct {
	// Test is the command in the words of Docker: CMD and words, CMD-SHELL and a text, or NONE; empty: that
	// of the image.
	Test []string `json:"test,omitempty"`
	// Port, in the place of Test, is one of the container that takes connections or, where there is a Path,
	// answers a GET of that with a status below 400.
	Port          int     `json:"port,omitempty"`
	Path          string  `json:"path,omitempty"`
	Interval      float64 `json:"interval_seconds,omitempty"`
	Timeout       float64 `json:"timeout_seconds,omitempty"`
	StartPeriod   float64 `json:"start_period_seconds,omitempty"`
	StartInterval float64 `json:"start_interval_seconds,omitempty"`
	Retries       int     `json:"retries,omitempty"`
}

// Ulimit is a limit of the kernel for each process of a container.
type Ulimit struct {
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}
