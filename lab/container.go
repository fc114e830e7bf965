package lab

// ContainerSpec says how to run a container of an image. Values that are left out are those of the image.
type ContainerSpec struct {
	// Names are further DNS names of the container for other units, besides the name of its unit.
	Names []string `json:"names,omitempty"`
	// Entrypoint replaces that of the image. A single empty word means no entrypoint.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Command    []string `json:"command,omitempty"`
	// Env holds variables as "NAME=VALUE".
	Env      []string         `json:"env,omitempty"`
	User     string           `json:"user,omitempty"`
	Dir      string           `json:"dir,omitempty"`
	Hostname string           `json:"hostname,omitempty"`
	Mounts   []ContainerMount `json:"mounts,omitempty"`
	Health   *HealthCheck     `json:"health,omitempty"`
	// Ports are the known ports at which other units call it.
	Ports []ContainerPort `json:"ports,omitempty"`
	// Hosts are entries of its /etc/hosts: "NAME:ADDRESS".
	Hosts []string `json:"hosts,omitempty"`
	// CapAdd, CapDrop and SecurityOpt are capabilities and options with their names in Docker.
	CapAdd      []string          `json:"cap_add,omitempty"`
	CapDrop     []string          `json:"cap_drop,omitempty"`
	SecurityOpt []string          `json:"security_opt,omitempty"`
	Sysctls     map[string]string `json:"sysctls,omitempty"`
	Ulimits     []Ulimit          `json:"ulimits,omitempty"`
	StopSignal  string            `json:"stop_signal,omitempty"`
	ShmSize     int64             `json:"shm_size_bytes,omitempty"`
	// Privileged containers have all rights on the host. Containers with HostPID see its processes.
	Privileged bool `json:"privileged,omitempty"`
	HostPID    bool `json:"host_pid,omitempty"`
	ReadOnly   bool `json:"read_only,omitempty"` // its root file system
	Init       bool `json:"init,omitempty"`      // Docker's init is process 1 and reaps processes
	Terminal   bool `json:"terminal,omitempty"`  // its output is a terminal
}

// ContainerPort is a TCP port at which others call a container, and the target port on which it listens.
type ContainerPort struct {
	Port   int `json:"port"`
	Target int `json:"target"`
}

// MountKind says what is mounted.
type MountKind string

// The kinds of mounts.
const (
	// MountVolume is a volume of the trial. At first it holds only what the image has there; it is kept when
	// the unit is restarted. Containers share the volumes that have the same name; a volume without a name is
	// only for one container.
	MountVolume MountKind = "volume"
	// MountBind is a file or a folder on the conductor's host.
	MountBind MountKind = "bind"
	// MountMemory is a file system in memory.
	MountMemory MountKind = "tmpfs"
	// MountFiles is a folder with the files of ContainerMount.Files, or only the one that is named as the
	// source. The container can only read them.
	MountFiles MountKind = "files"
	// MountLeaves is the folder for files that the unit writes for the conductor (Storage.Leaves). All users in
	// the container may write to it.
	MountLeaves MountKind = "leaves"
)

// ContainerMount is a mount in a container.
type ContainerMount struct {
	// Kind says what is mounted: a volume of the trial, a file or folder of the conductor's host (bind), a file
	// system in memory (tmpfs), the files in Files, or the folder for files that the unit writes for the
	// conductor (leaves).
	Kind     MountKind `json:"kind"`
	Source   string    `json:"source,omitempty"` // the name of the volume or file, or the path
	Target   string    `json:"target"`
	ReadOnly bool      `json:"read_only,omitempty"`
	Options  string    `json:"options,omitempty"` // of a tmpfs, such as size=64m
	// Files holds the contents of MountFiles by name. Executable is set if all of them are programs.
	Files      map[string]string `json:"files,omitempty"`
	Executable bool              `json:"executable,omitempty"`
}

// HealthCheck is a command that runs repeatedly in a container and says whether that is healthy. Times are in
// seconds; 0: the default of the image or of Docker.
type HealthCheck struct {
	// Test is the command in the form of Docker: CMD and words, CMD-SHELL and a text, or NONE. Empty: the
	// command of the image.
	Test []string `json:"test,omitempty"`
	// Port can be given instead of Test. The container is healthy if it accepts connections on this port, or,
	// if there is a Path, if it answers a GET of the path with a status below 400.
	Port          int     `json:"port,omitempty"`
	Path          string  `json:"path,omitempty"`
	Interval      float64 `json:"interval_seconds,omitempty"`
	Timeout       float64 `json:"timeout_seconds,omitempty"`
	StartPeriod   float64 `json:"start_period_seconds,omitempty"`
	StartInterval float64 `json:"start_interval_seconds,omitempty"`
	Retries       int     `json:"retries,omitempty"`
}

// Ulimit is a resource limit for each process of a container.
type Ulimit struct {
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}
