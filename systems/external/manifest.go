package external

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/yamlfile"
)

// maxManifests limits a file of manifests, in bytes. It is large since kustomize writes a system into one
// file.
const maxManifests = 4 << 20

// maxManifestFiles limits the files in the subfolders of a folder of manifests.
const maxManifestFiles = 1000

// Limits of the YAML of one file. Manifests of the supported kinds have about 15 levels.
const (
	maxManifestDepth = 64
	maxManifestNodes = 500_000
)

// The supported part of Kubernetes manifests. The keys of fields that begin with Ignored concern updates,
// scheduling and quotas, which trials do not have. An unknown key is a mistake, which is reported with its
// line.
type (
	metadata struct {
		Name      string            `yaml:"name,omitempty"`
		Namespace string            `yaml:"namespace,omitempty"`
		Labels    map[string]string `yaml:"labels,omitempty"`

		Ignored any `yaml:"annotations|creationTimestamp,omitempty"`
	}
	// object has the keys that all manifests share.
	object struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata"`
	}
	// workload is a Deployment, StatefulSet, DaemonSet or Job.
	workload struct {
		object
		Spec    workloadSpec `yaml:"spec"`
		Ignored any          `yaml:"status,omitempty"`
	}
	workloadSpec struct {
		Replicas             *int        `yaml:"replicas,omitempty"`
		Template             podTemplate `yaml:"template"`
		VolumeClaimTemplates []claim     `yaml:"volumeClaimTemplates,omitempty"`

		IgnoredNames   any `yaml:"selector|serviceName,omitempty"`
		IgnoredUpdates any `yaml:"strategy|updateStrategy|minReadySeconds|revisionHistoryLimit,omitempty"`
		IgnoredPods    any `yaml:"podManagementPolicy|persistentVolumeClaimRetentionPolicy|backoffLimit,omitempty"`
		IgnoredTimes   any `yaml:"progressDeadlineSeconds|ttlSecondsAfterFinished|activeDeadlineSeconds,omitempty"`
	}
	claim struct {
		Metadata metadata `yaml:"metadata"`
		Ignored  any      `yaml:"apiVersion|kind|spec|status,omitempty"`
	}
	podTemplate struct {
		Metadata metadata `yaml:"metadata,omitempty"`
		Spec     podSpec  `yaml:"spec"`
	}
	podSpec struct {
		InitContainers  []podContainer `yaml:"initContainers,omitempty"`
		Containers      []podContainer `yaml:"containers"`
		Volumes         []podVolume    `yaml:"volumes,omitempty"`
		Hostname        string         `yaml:"hostname,omitempty"`
		RestartPolicy   string         `yaml:"restartPolicy,omitempty"`
		HostAliases     []hostAlias    `yaml:"hostAliases,omitempty"`
		SecurityContext podSecurity    `yaml:"securityContext,omitempty"`

		IgnoredAccounts any `yaml:"serviceAccountName|serviceAccount|automountServiceAccountToken,omitempty"`
		IgnoredNodes    any `yaml:"schedulerName|nodeSelector|tolerations|affinity|priorityClassName,omitempty"`
		IgnoredSpread   any `yaml:"topologySpreadConstraints,omitempty"`
		IgnoredNetwork  any `yaml:"dnsPolicy|enableServiceLinks|imagePullSecrets,omitempty"`
		IgnoredTimes    any `yaml:"terminationGracePeriodSeconds,omitempty"`
	}
	hostAlias struct {
		IP        string   `yaml:"ip"`
		Hostnames []string `yaml:"hostnames"`
	}
	podSecurity struct {
		RunAsUser  *int `yaml:"runAsUser,omitempty"`
		RunAsGroup *int `yaml:"runAsGroup,omitempty"`

		Ignored any `yaml:"runAsNonRoot|fsGroup|fsGroupChangePolicy|seccompProfile,omitempty"`
	}
	podContainer struct {
		Name            string            `yaml:"name"`
		Image           string            `yaml:"image"`
		Command         []string          `yaml:"command,omitempty"`
		Args            []string          `yaml:"args,omitempty"`
		WorkingDir      string            `yaml:"workingDir,omitempty"`
		Env             []variable        `yaml:"env,omitempty"`
		EnvFrom         []variables       `yaml:"envFrom,omitempty"`
		Ports           []containerPort   `yaml:"ports,omitempty"`
		Resources       resources         `yaml:"resources,omitempty"`
		VolumeMounts    []volumeMount     `yaml:"volumeMounts,omitempty"`
		ReadinessProbe  *probe            `yaml:"readinessProbe,omitempty"`
		StartupProbe    *probe            `yaml:"startupProbe,omitempty"`
		SecurityContext containerSecurity `yaml:"securityContext,omitempty"`
		TTY             bool              `yaml:"tty,omitempty"`

		Ignored    any `yaml:"imagePullPolicy|livenessProbe|stdin,omitempty"`
		IgnoredEnd any `yaml:"terminationMessagePath|terminationMessagePolicy,omitempty"`
	}
	variable struct {
		Name      string       `yaml:"name"`
		Value     string       `yaml:"value,omitempty"`
		ValueFrom *valueSource `yaml:"valueFrom,omitempty"`
	}
	valueSource struct {
		ConfigMapKeyRef *keyRef   `yaml:"configMapKeyRef,omitempty"`
		SecretKeyRef    *keyRef   `yaml:"secretKeyRef,omitempty"`
		FieldRef        *fieldRef `yaml:"fieldRef,omitempty"`
	}
	keyRef struct {
		Name     string `yaml:"name"`
		Key      string `yaml:"key,omitempty"`
		Optional bool   `yaml:"optional,omitempty"`
	}
	fieldRef struct {
		FieldPath string `yaml:"fieldPath"`
		Ignored   any    `yaml:"apiVersion,omitempty"`
	}
	variables struct {
		Prefix       string  `yaml:"prefix,omitempty"`
		ConfigMapRef *keyRef `yaml:"configMapRef,omitempty"`
		SecretRef    *keyRef `yaml:"secretRef,omitempty"`
	}
	containerPort struct {
		Name          string `yaml:"name,omitempty"`
		ContainerPort int    `yaml:"containerPort"`
		Protocol      string `yaml:"protocol,omitempty"`
	}
	resources struct {
		Limits struct {
			CPU     string `yaml:"cpu,omitempty"`
			Memory  string `yaml:"memory,omitempty"`
			Ignored any    `yaml:"ephemeral-storage,omitempty"`
		} `yaml:"limits,omitempty"`
		Ignored any `yaml:"requests,omitempty"`
	}
	volumeMount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath,omitempty"`
		ReadOnly  bool   `yaml:"readOnly,omitempty"`
	}
	probe struct {
		HTTPGet *struct {
			Path    string `yaml:"path,omitempty"`
			Port    string `yaml:"port"`
			Scheme  string `yaml:"scheme,omitempty"`
			Ignored any    `yaml:"httpHeaders,omitempty"`
		} `yaml:"httpGet,omitempty"`
		TCPSocket *struct {
			Port string `yaml:"port"`
		} `yaml:"tcpSocket,omitempty"`
		Exec *struct {
			Command []string `yaml:"command"`
		} `yaml:"exec,omitempty"`
		PeriodSeconds    int `yaml:"periodSeconds,omitempty"`
		TimeoutSeconds   int `yaml:"timeoutSeconds,omitempty"`
		FailureThreshold int `yaml:"failureThreshold,omitempty"`

		Ignored any `yaml:"initialDelaySeconds|successThreshold,omitempty"`
	}
	containerSecurity struct {
		RunAsUser                *int  `yaml:"runAsUser,omitempty"`
		RunAsGroup               *int  `yaml:"runAsGroup,omitempty"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem,omitempty"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation,omitempty"`
		Privileged               bool  `yaml:"privileged,omitempty"`
		Capabilities             struct {
			Add  []string `yaml:"add,omitempty"`
			Drop []string `yaml:"drop,omitempty"`
		} `yaml:"capabilities,omitempty"`

		Ignored any `yaml:"runAsNonRoot|seccompProfile,omitempty"`
	}
	podVolume struct {
		Name     string `yaml:"name"`
		EmptyDir *struct {
			Medium  string `yaml:"medium,omitempty"`
			Ignored any    `yaml:"sizeLimit,omitempty"`
		} `yaml:"emptyDir,omitempty"`
		ConfigMap             *fileVolume `yaml:"configMap,omitempty"`
		Secret                *fileVolume `yaml:"secret,omitempty"`
		PersistentVolumeClaim *struct {
			ClaimName string `yaml:"claimName"`
			ReadOnly  bool   `yaml:"readOnly,omitempty"`
		} `yaml:"persistentVolumeClaim,omitempty"`
		HostPath *struct {
			Path    string `yaml:"path"`
			Ignored any    `yaml:"type,omitempty"`
		} `yaml:"hostPath,omitempty"`
	}
	fileVolume struct {
		Name       string `yaml:"name,omitempty"`
		SecretName string `yaml:"secretName,omitempty"`
		Items      []struct {
			Key     string `yaml:"key"`
			Path    string `yaml:"path"`
			Ignored any    `yaml:"mode,omitempty"`
		} `yaml:"items,omitempty"`
		DefaultMode int  `yaml:"defaultMode,omitempty"`
		Optional    bool `yaml:"optional,omitempty"`
	}
	serviceManifest struct {
		object
		Spec struct {
			Type     string            `yaml:"type,omitempty"`
			Selector map[string]string `yaml:"selector,omitempty"`
			Ports    []struct {
				Name       string `yaml:"name,omitempty"`
				Port       int    `yaml:"port"`
				TargetPort string `yaml:"targetPort,omitempty"`
				Protocol   string `yaml:"protocol,omitempty"`
				Ignored    any    `yaml:"nodePort|appProtocol,omitempty"`
			} `yaml:"ports,omitempty"`

			IgnoredAddresses any `yaml:"clusterIP|clusterIPs|ipFamilies|ipFamilyPolicy,omitempty"`
			IgnoredTraffic   any `yaml:"sessionAffinity|internalTrafficPolicy|externalTrafficPolicy,omitempty"`
			IgnoredReadiness any `yaml:"publishNotReadyAddresses,omitempty"`
		} `yaml:"spec"`
		Ignored any `yaml:"status,omitempty"`
	}
	// configData is a ConfigMap or a Secret.
	configData struct {
		object
		Data       map[string]string `yaml:"data,omitempty"`
		StringData map[string]string `yaml:"stringData,omitempty"`
		Ignored    any               `yaml:"type|immutable,omitempty"`
	}
	ingress struct {
		object
		Spec struct {
			DefaultBackend *ingressBackend `yaml:"defaultBackend,omitempty"`
			Rules          []struct {
				HTTP struct {
					Paths []struct {
						Backend ingressBackend `yaml:"backend"`
						Ignored any            `yaml:"path|pathType,omitempty"`
					} `yaml:"paths"`
				} `yaml:"http,omitempty"`
				Ignored any `yaml:"host,omitempty"`
			} `yaml:"rules,omitempty"`
			Ignored any `yaml:"ingressClassName|tls,omitempty"`
		} `yaml:"spec"`
		Ignored any `yaml:"status,omitempty"`
	}
	ingressBackend struct {
		Service struct {
			Name string `yaml:"name"`
			Port struct {
				Number int    `yaml:"number,omitempty"`
				Name   string `yaml:"name,omitempty"`
			} `yaml:"port"`
		} `yaml:"service"`
	}
)

// manifests holds the objects of a file or a folder of manifests.
type manifests struct {
	workloads []workload
	services  []serviceManifest
	configs   map[string]configData // by kind and name
	claims    map[string]string     // the namespace of each
	ingresses []ingress
	notes     []string
}

// manifestFiles returns the manifest files of a folder, as kubectl does, or those of its subfolders if it has
// none of its own. If the path is a file, it returns that file.
func manifestFiles(path string) (own []string, err error) {
	isManifest := func(file fs.DirEntry) bool {
		extension := filepath.Ext(file.Name())
		return !file.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, extension)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		if isManifest(entry) {
			own = append(own, filepath.Join(path, entry.Name()))
		}
	}
	if err != nil || len(own) > 0 {
		return own, err
	}
	var below []string
	folder := path + string(filepath.Separator) // WalkDir follows no link without it
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !isManifest(entry):
		case len(below) == maxManifestFiles:
			return fmt.Errorf("more than %d files", maxManifestFiles)
		default:
			below = append(below, file)
		}
		return nil
	})
	return below, err
}

// readManifests reads a file of manifests, or all those of a folder.
func readManifests(path string) (*manifests, error) {
	files, err := manifestFiles(path)
	if err != nil {
		return nil, err
	}
	m := &manifests{configs: map[string]configData{}, claims: map[string]string{}}
	var problems yamlfile.Problems
	for _, file := range files {
		text, err := inputfile.Read(file, maxManifests)
		if err != nil {
			return nil, err
		}
		r := yamlfile.Reader{File: file, Format: yamlfile.Format{Kind: "manifest", MaxBytes: maxManifests,
			MaxDepth: maxManifestDepth, MaxNodes: maxManifestNodes, Aliases: true}}
		for _, root := range r.Documents(text) {
			m.add(&r, root)
		}
		problems = append(problems, r.Problems...)
	}
	if err := problems.OrNil(); err != nil {
		return nil, err
	}
	if len(m.workloads) == 0 {
		return nil, errors.New("there is no Deployment, StatefulSet, DaemonSet or Job in files that end with " +
			".yaml, .yml or .json")
	}
	return m, nil
}

// read decodes a node of a manifest.
func read[T any](r *yamlfile.Reader, node *yaml.Node) (into T) {
	r.Decode(node, &into)
	return into
}

// add reads one manifest. Long because each kind has its own type.
func (m *manifests) add(r *yamlfile.Reader, root *yaml.Node) {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return // an empty document
	}
	kind, name := "", ""
	if node := mappingValue(root, "kind"); node != nil {
		kind = node.Value
	}
	if node := mappingValue(root, "metadata"); node != nil && mappingValue(node, "name") != nil {
		name = mappingValue(node, "name").Value
	}
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Job":
		m.workloads = append(m.workloads, read[workload](r, root))
	case "Service":
		m.services = append(m.services, read[serviceManifest](r, root))
	case "ConfigMap", "Secret":
		config := read[configData](r, root)
		known, exists := m.configs[kind+" "+name]
		isSame := maps.Equal(known.Data, config.Data) && maps.Equal(known.StringData, config.StringData)
		if exists && !isSame {
			r.Problem(root.Line, "there is another %s %s with other values: leave one out, or rename it", kind, name)
		}
		m.configs[kind+" "+name] = config
	case "PersistentVolumeClaim":
		namespace := cmp.Or(read[claim](r, root).Metadata.Namespace, "default")
		if other, exists := m.claims[name]; exists && other != namespace {
			r.Problem(root.Line, "there is another PersistentVolumeClaim %s in the namespace %s: rename one", name,
				other)
		}
		m.claims[name] = namespace
	case "PersistentVolume":
		m.notes = append(m.notes, fmt.Sprintf("the PersistentVolume %s is left out: each claim gets a volume of "+
			"the trial, which is empty at first", name))
	case "Ingress":
		m.ingresses = append(m.ingresses, read[ingress](r, root))
	case "List":
		if items := mappingValue(root, "items"); items != nil {
			for _, item := range items.Content {
				m.add(r, item)
			}
		}
	case "Namespace", "ServiceAccount":
		m.notes = append(m.notes, fmt.Sprintf("the %s %s is left out: services ask nothing of a cluster here", kind,
			name))
	case "Kustomization":
		r.Problem(root.Line, "this is for kustomize: type: kubectl kustomize %s >system.yaml, and name that",
			shell.Quote(filepath.Dir(r.File)))
	default:
		r.Problem(root.Line, "%s %s is none of the kinds that are read: Deployment, StatefulSet, DaemonSet, Job, "+
			"Service, ConfigMap, Secret, PersistentVolumeClaim, Ingress: leave it out", strings.TrimSpace("the "+kind),
			name)
	}
}
