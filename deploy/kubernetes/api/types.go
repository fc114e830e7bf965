package api

// Object is what every thing in Kubernetes has.
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
		Conditions []struct{ Type, Status, Message string } `json:"conditions"`
	} `json:"status"`
}

// Ready reports whether the node takes pods: it says so, and nobody keeps them away.
func (n Node) Ready() bool {
	if len(n.Spec.Taints) > 0 {
		return false
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True"
		}
	}
	return false
}

// Service is an address under which pods are reached.
type Service struct {
	Object
	Spec ServiceSpec `json:"spec"`
}

// ServiceSpec says which pods, and at which ports.
type ServiceSpec struct {
	ClusterIP string            `json:"clusterIP,omitempty"`
	Selector  map[string]string `json:"selector"`
	Ports     []ServicePort     `json:"ports"`
}

// ServicePort is a port of a service, the same as that of its pods.
type ServicePort struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

// Pod is what runs on a node.
type Pod struct {
	Object
	Spec   PodSpec   `json:"spec"`
	Status PodStatus `json:"status"`
}

// PodSpec is what a pod shall be.
type PodSpec struct {
	NodeName                      string            `json:"nodeName,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	RestartPolicy                 string            `json:"restartPolicy"`
	TerminationGracePeriodSeconds int               `json:"terminationGracePeriodSeconds"`
	AutomountServiceAccountToken  bool              `json:"automountServiceAccountToken"`
	EnableServiceLinks            bool              `json:"enableServiceLinks"`
	Containers                    []Container       `json:"containers"`
	Volumes                       []Volume          `json:"volumes,omitempty"`
}

// Container is a program of a pod.
type Container struct {
	Name            string          `json:"name"`
	Image           string          `json:"image"`
	ImagePullPolicy string          `json:"imagePullPolicy"`
	Command         []string        `json:"command"`
	WorkingDir      string          `json:"workingDir,omitempty"`
	Env             []Variable      `json:"env,omitempty"`
	Resources       Resources       `json:"resources"`
	VolumeMounts    []Mount         `json:"volumeMounts,omitempty"`
	SecurityContext SecurityContext `json:"securityContext"`
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
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

// Volume is a folder of the pod's node, or an empty one.
type Volume struct {
	Name     string    `json:"name"`
	HostPath *HostPath `json:"hostPath,omitempty"`
	EmptyDir *struct{} `json:"emptyDir,omitempty"`
}

// HostPath is a folder or file of a node.
type HostPath struct {
	Path string `json:"path"`
}

// SecurityContext is what a program may do.
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

// PodStatus is what a pod is.
type PodStatus struct {
	Phase             string            `json:"phase"`
	Message           string            `json:"message"`
	PodIP             string            `json:"podIP"`
	QOSClass          string            `json:"qosClass"`
	Conditions        []PodCondition    `json:"conditions"`
	ContainerStatuses []ContainerStatus `json:"containerStatuses"`
}

// PodCondition is one of the things that a pod should be.
type PodCondition struct{ Type, Status, Reason, Message string }

// ContainerStatus is what a program of a pod is.
type ContainerStatus struct {
	ContainerID string `json:"containerID"`
	State       struct {
		Waiting    *struct{ Reason, Message string } `json:"waiting"`
		Running    *struct{}                         `json:"running"`
		Terminated *Terminated                       `json:"terminated"`
	} `json:"state"`
}

// Terminated is how a program has ended.
type Terminated struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}
