package api

// Object holds the fields that every object of Kubernetes has.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Metadata   Meta   `json:"metadata"`
}

// Meta names a thing.
type Meta struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Node is a host of the cluster.
type Node struct {
	Object
	Spec struct {
		Taints []struct{ Key string } `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions  []struct{ Type, Status, Message string } `json:"conditions"`
		Allocatable struct{ CPU, Memory string }             `json:"allocatable"`
	} `json:"status"`
}

// Ready reports whether the node takes pods: it says so, and nobody keeps them away.
func (n Node) Ready() bool {
	if len(n.Spec.Taints) > 0 {
		return false
	}
	return n.says() == "True"
}

// Lost reports whether nobody has heard from the node for so long that it is taken for lost.
func (n Node) Lost() bool { return n.says() == "Unknown" }

// says returns whether the node is ready: "True", "False" or "Unknown"; "": nobody has said it yet.
func (n Node) says() string {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status
		}
	}
	return ""
}

// Allocatable returns what all pods of the node together may use: processors, and memory in
// bytes; 0: it does not say.
func (n Node) Allocatable() (cores float64, memory int64) {
	cores, _ = quantity(n.Status.Allocatable.CPU)
	bytes, _ := quantity(n.Status.Allocatable.Memory)
	return cores, int64(bytes)
}

// Service is an address under which pods are reached.
type Service struct {
	Object
	Spec struct {
		ClusterIP string            `json:"clusterIP,omitempty"`
		Selector  map[string]string `json:"selector"`
		Ports     []ServicePort     `json:"ports"`
	} `json:"spec"`
}

// ServicePort is a port of a service, and that of its pods; 0: the same.
type ServicePort struct {
	Name       string `json:"name"`
	Port       int    `json:"port"`
	TargetPort int    `json:"targetPort,omitempty"`
}

// Pod is a group of containers on a node.
type Pod struct {
	Object
	Spec   PodSpec `json:"spec"`
	Status struct {
		Phase             string            `json:"phase"`
		Message           string            `json:"message"`
		PodIP             string            `json:"podIP"`
		QOSClass          string            `json:"qosClass"`
		Conditions        []PodCondition    `json:"conditions"`
		ContainerStatuses []ContainerStatus `json:"containerStatuses"`
		// InitStatuses has the statuses of the containers that prepare the pod.
		InitStatuses []ContainerStatus `json:"initContainerStatuses"`
	} `json:"status"`
}

// PodSpec describes how a pod shall be.
type PodSpec struct {
	NodeName                      string            `json:"nodeName,omitempty"`
	Hostname                      string            `json:"hostname,omitempty"`
	HostAliases                   []HostAlias       `json:"hostAliases,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	TopologySpreadConstraints     []Spread          `json:"topologySpreadConstraints,omitempty"`
	RestartPolicy                 string            `json:"restartPolicy"`
	TerminationGracePeriodSeconds int               `json:"terminationGracePeriodSeconds"`
	AutomountServiceAccountToken  bool              `json:"automountServiceAccountToken"`
	EnableServiceLinks            bool              `json:"enableServiceLinks"`
	InitContainers                []Container       `json:"initContainers,omitempty"`
	Containers                    []Container       `json:"containers"`
	Volumes                       []Volume          `json:"volumes,omitempty"`
	ImagePullSecrets              []Meta            `json:"imagePullSecrets,omitempty"`
	SecurityContext               *PodSecurity      `json:"securityContext,omitempty"`
}

// Spread asks the scheduler to give all nodes as many pods with the same labels.
type Spread struct {
	MaxSkew           int    `json:"maxSkew"`
	TopologyKey       string `json:"topologyKey"`
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`
	LabelSelector     struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"labelSelector"`
}

// HostAlias is an address in the /etc/hosts of a pod.
type HostAlias struct {
	IP        string   `json:"ip"`
	Hostnames []string `json:"hostnames"`
}

// PodSecurity limits all programs of a pod.
type PodSecurity struct {
	RunAsNonRoot   bool              `json:"runAsNonRoot"`
	RunAsUser      int               `json:"runAsUser"`
	RunAsGroup     int               `json:"runAsGroup"`
	FSGroup        int               `json:"fsGroup"`
	SeccompProfile map[string]string `json:"seccompProfile"`
}

// Secret are texts that not everybody may read.
type Secret struct {
	Object
	Type string            `json:"type,omitempty"`
	Data map[string][]byte `json:"data"`
}

// Container is a program of a pod.
type Container struct {
	Name            string `json:"name"`
	Image           string `json:"image"`
	ImagePullPolicy string `json:"imagePullPolicy"`
	// in the place of the image's own; it is told Args
	Command         []string        `json:"command,omitempty"`
	Args            []string        `json:"args,omitempty"`
	WorkingDir      string          `json:"workingDir,omitempty"`
	Env             []Variable      `json:"env,omitempty"`
	Resources       Resources       `json:"resources"`
	VolumeMounts    []Mount         `json:"volumeMounts,omitempty"`
	SecurityContext SecurityContext `json:"securityContext"`
	ReadinessProbe  *Probe          `json:"readinessProbe,omitempty"`
	TTY             bool            `json:"tty,omitempty"`
}

// Probe says whether a container can be used: by one of a command in it, a connection, and an answer. Times
// are whole seconds; 0: the default of Kubernetes.
type Probe struct {
	Exec             *Exec `json:"exec,omitempty"`
	HTTPGet          *Call `json:"httpGet,omitempty"`
	TCPSocket        *Call `json:"tcpSocket,omitempty"`
	PeriodSeconds    int   `json:"periodSeconds,omitempty"`
	TimeoutSeconds   int   `json:"timeoutSeconds,omitempty"`
	FailureThreshold int   `json:"failureThreshold,omitempty"`
}

// Exec is a command in a container.
type Exec struct {
	Command []string `json:"command"`
}

// Call is a call of a container's port.
type Call struct {
	Path string `json:"path,omitempty"`
	Port int    `json:"port"`
}

// Variable is one of a program's environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Resources are amounts by "cpu" and "memory".
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// Mount is where a program finds a volume.
type Mount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	SubPath   string `json:"subPath,omitempty"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

// Volume is a folder of the pod's node, an empty one, or one of texts.
type Volume struct {
	Name     string    `json:"name"`
	HostPath *HostPath `json:"hostPath,omitempty"`
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"`
	Secret   *InSecret `json:"secret,omitempty"`
}

// EmptyDir is a folder of the pod's own, in memory where Medium is "Memory".
type EmptyDir struct {
	Medium    string `json:"medium,omitempty"`
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// InSecret has the texts of a secret as files.
type InSecret struct {
	Name  string       `json:"secretName"`
	Mode  int          `json:"defaultMode"` // of the files
	Items []SecretItem `json:"items,omitempty"`
}

// SecretItem is a text of a secret as a file with a mode of its own.
type SecretItem struct {
	Key  string `json:"key"`
	Path string `json:"path"`
	Mode int    `json:"mode"`
}

// HostPath is a folder or file of a node.
type HostPath struct {
	Path string `json:"path"`
}

// SecurityContext limits a program.
type SecurityContext struct {
	RunAsUser                *int         `json:"runAsUser,omitempty"`
	RunAsGroup               *int         `json:"runAsGroup,omitempty"`
	ReadOnlyRootFilesystem   bool         `json:"readOnlyRootFilesystem"`
	AllowPrivilegeEscalation bool         `json:"allowPrivilegeEscalation"`
	Capabilities             Capabilities `json:"capabilities"`
}

// Capabilities are rights of root.
type Capabilities struct {
	Drop []string `json:"drop"`
	Add  []string `json:"add,omitempty"`
}

// PodCondition is one of the things that a pod should be.
type PodCondition struct{ Type, Status, Reason, Message string }

// ContainerStatus describes how a program of a pod is.
type ContainerStatus struct {
	Name        string         `json:"name"`
	ContainerID string         `json:"containerID"`
	State       ContainerState `json:"state"`
	LastState   ContainerState `json:"lastState"` // of the life before
}

// ContainerState has one member that is not nil: the state of a program.
type ContainerState struct {
	Waiting    *struct{ Reason, Message string } `json:"waiting"`
	Running    *struct{}                         `json:"running"`
	Terminated *Terminated                       `json:"terminated"`
}

// Terminated is how a program has ended.
type Terminated struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}
