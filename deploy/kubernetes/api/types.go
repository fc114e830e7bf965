package api

// Object holds the fields that every object of Kubernetes has.
type Object struct {
	Metadata Meta `json:"metadata"`
}

// Meta names an object.
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

// Ready reports whether the node takes pods: it is ready and has no taints.
func (n Node) Ready() bool { return len(n.Spec.Taints) == 0 && n.readiness() == "True" }

// Lost reports whether Kubernetes has heard nothing from the node for so long that it has declared the node
// lost.
func (n Node) Lost() bool { return n.readiness() == "Unknown" }

// readiness returns the status of the node's condition Ready: "True", "False" or "Unknown"; "" if there is
// none yet.
func (n Node) readiness() string {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status
		}
	}
	return ""
}

// Allocatable returns the processors and the memory in bytes that all pods of the node together may use; 0 if
// the node does not report them.
func (n Node) Allocatable() (cores float64, memory int64) {
	cores, _ = quantity(n.Status.Allocatable.CPU)
	bytes, _ := quantity(n.Status.Allocatable.Memory)
	return cores, int64(bytes)
}

// Service is a stable address for pods.
type Service struct {
	Object
	Spec struct {
		ClusterIP string            `json:"clusterIP,omitempty"`
		Selector  map[string]string `json:"selector"`
		Ports     []ServicePort     `json:"ports"`
	} `json:"spec"`
}

// ServicePort is a port of a service. TargetPort is that of its pods; 0: the same.
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

// PodSpec is the wanted state of a pod.
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

// Spread asks the scheduler to give all nodes the same number of pods with certain labels.
type Spread struct {
	MaxSkew           int    `json:"maxSkew"`
	TopologyKey       string `json:"topologyKey"`
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`
	LabelSelector     struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"labelSelector"`
}

// HostAlias is a line in the /etc/hosts of a pod.
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

// Secret holds confidential data by name.
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
	// Command and Args override the image's entrypoint and its arguments.
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

// Probe checks whether a container can be used: by a command in it, an HTTP request, or a connection. Times
// are seconds; 0: the default of Kubernetes.
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

// Call is the port, and for HTTP the path, of a probe.
type Call struct {
	Path string `json:"path,omitempty"`
	Port int    `json:"port"`
}

// Variable is an environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Resources are amounts by "cpu" and "memory".
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// Mount is the path at which a container sees a volume.
type Mount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	SubPath   string `json:"subPath,omitempty"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

// Volume is a folder of the pod's node, an empty folder, or the files of a secret.
type Volume struct {
	Name     string    `json:"name"`
	HostPath *HostPath `json:"hostPath,omitempty"`
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"`
	Secret   *InSecret `json:"secret,omitempty"`
}

// EmptyDir is an empty folder that ends with the pod; in memory if Medium is "Memory".
type EmptyDir struct {
	Medium    string `json:"medium,omitempty"`
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// InSecret is a volume with the data of a secret as files.
type InSecret struct {
	Name  string       `json:"secretName"`
	Mode  int          `json:"defaultMode"` // of the files
	Items []SecretItem `json:"items,omitempty"`
}

// SecretItem is one file of such a volume, with its own mode.
type SecretItem struct {
	Key  string `json:"key"`
	Path string `json:"path"`
	Mode int    `json:"mode"`
}

// HostPath is a folder or file of a node.
type HostPath struct {
	Path string `json:"path"`
}

// SecurityContext limits a container.
type SecurityContext struct {
	RunAsUser                *int         `json:"runAsUser,omitempty"`
	RunAsGroup               *int         `json:"runAsGroup,omitempty"`
	RunAsNonRoot             *bool        `json:"runAsNonRoot,omitempty"` // nil: as PodSecurity has it
	ReadOnlyRootFilesystem   bool         `json:"readOnlyRootFilesystem"`
	AllowPrivilegeEscalation bool         `json:"allowPrivilegeEscalation"`
	Capabilities             Capabilities `json:"capabilities"`
}

// Capabilities are Linux capabilities.
type Capabilities struct {
	Drop []string `json:"drop"`
	Add  []string `json:"add,omitempty"`
}

// PodCondition is a condition of a pod, such as "Ready", with its status "True", "False" or "Unknown".
type PodCondition struct{ Type, Status, Reason, Message string }

// ContainerStatus is the state of a container.
type ContainerStatus struct {
	Name        string         `json:"name"`
	ContainerID string         `json:"containerID"`
	State       ContainerState `json:"state"`
	LastState   ContainerState `json:"lastState"` // before the last restart
}

// ContainerState has one member that is not nil.
type ContainerState struct {
	Waiting    *Waiting    `json:"waiting"`
	Running    *struct{}   `json:"running"`
	Terminated *Terminated `json:"terminated"`
}

// Waiting says why a container does not run yet.
type Waiting struct{ Reason, Message string }

// Terminated describes how a container has ended.
type Terminated struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"`
}
