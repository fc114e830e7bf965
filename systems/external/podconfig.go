package external

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
)

// configValues returns the decoded values of a ConfigMap or a Secret. It is an obstacle if that does not
// exist, unless the reference is optional.
func (t *translation) configValues(kind string, ref keyRef) map[string]string {
	config, known := t.configs[kind+" "+ref.Name]
	if !known && !ref.Optional {
		t.addObstacle("there is no %s %s", kind, ref.Name)
	}
	values := map[string]string{}
	for name, value := range config.Data {
		if kind == "Secret" {
			text, err := base64.StdEncoding.DecodeString(value)
			if err != nil || !utf8.Valid(text) {
				t.addObstacle("the value %s of the Secret %s is no text in base64", name, ref.Name)
			}
			value = string(text)
		}
		values[name] = value
	}
	maps.Copy(values, config.StringData)
	if kind == "Secret" {
		for _, value := range values {
			t.secrets = append(t.secrets, value)
		}
	}
	return values
}

// environment returns the environment variables of a container.
func (t *translation) environment(c podContainer) map[string]string {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		for kind, ref := range map[string]*keyRef{"ConfigMap": from.ConfigMapRef, "Secret": from.SecretRef} {
			if ref == nil {
				continue
			}
			for name, value := range t.configValues(kind, *ref) {
				env[from.Prefix+name] = value
			}
		}
	}
	for _, v := range c.Env { // Kubernetes expands variables only in values that are written here
		value := expanded([]string{v.Value}, env)[0]
		exists := true
		if from := v.ValueFrom; from != nil {
			switch {
			case from.ConfigMapKeyRef != nil:
				value, exists = t.keyOf("ConfigMap", *from.ConfigMapKeyRef)
			case from.SecretKeyRef != nil:
				value, exists = t.keyOf("Secret", *from.SecretKeyRef)
			case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
				value = cmp.Or(t.Metadata.Namespace, "default")
			default:
				t.addObstacle("the variable %s comes from what only Kubernetes knows of a pod: give it a value", v.Name)
			}
		}
		if exists {
			env[v.Name] = value
		}
	}
	return env
}

// keyOf returns the value of a key of a ConfigMap or a Secret, and whether it exists. A missing key is an
// obstacle unless it is optional; configValues has added that of a missing ConfigMap or Secret.
func (t *translation) keyOf(kind string, ref keyRef) (string, bool) {
	value, exists := t.configValues(kind, ref)[ref.Key]
	isKnown := t.configs[kind+" "+ref.Name].Kind != ""
	if isKnown && !exists && !ref.Optional {
		t.addObstacle("the %s %s has no key %s", kind, ref.Name, ref.Key)
	}
	return value, exists
}

// reference matches a variable, $(NAME), in a text of a manifest, and $$, which stands for a plain $.
var reference = regexp.MustCompile(`\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// expanded returns texts with their variables replaced, as by Kubernetes. Unknown variables stay.
func expanded(texts []string, env map[string]string) (all []string) {
	for _, text := range texts {
		all = append(all, reference.ReplaceAllStringFunc(text, func(found string) string {
			if found == "$$" {
				return "$"
			}
			if value, known := env[found[2:len(found)-1]]; known {
				return value
			}
			return found
		}))
	}
	return all
}

// mount adds the volumes that a container mounts to its unit.
func (t *translation) mount(unit *lab.SystemService, c podContainer) {
	pod := t.Spec.Template.Spec
	templates := map[string]bool{}
	for _, template := range t.Spec.VolumeClaimTemplates {
		templates[template.Metadata.Name] = true
	}
	for _, m := range c.VolumeMounts {
		mount := lab.ContainerMount{Kind: lab.MountVolume, Target: m.MountPath, ReadOnly: m.ReadOnly}
		i := slices.IndexFunc(pod.Volumes, func(v podVolume) bool { return v.Name == m.Name })
		if i < 0 && !templates[m.Name] {
			t.addObstacle("there is no volume %s", m.Name)
			continue
		}
		var v podVolume
		if i >= 0 {
			v = pod.Volumes[i]
		}
		switch {
		case templates[m.Name]: // a volume without a name: each pod has its own
		case v.EmptyDir != nil && v.EmptyDir.Medium == "Memory":
			mount.Kind = lab.MountMemory
		case v.EmptyDir != nil && len(pod.InitContainers) > 0: // shared with those, which are other units
			mount.Source = t.Metadata.Name + "-" + v.Name
		case v.EmptyDir != nil:
		case v.ConfigMap != nil:
			mount.Kind = lab.MountFiles
			t.files(&mount, "ConfigMap", v.ConfigMap.Name, *v.ConfigMap)
		case v.Secret != nil:
			mount.Kind = lab.MountFiles
			t.files(&mount, "Secret", v.Secret.SecretName, *v.Secret)
		case v.PersistentVolumeClaim != nil:
			mount.Source = v.PersistentVolumeClaim.ClaimName
			mount.ReadOnly = mount.ReadOnly || v.PersistentVolumeClaim.ReadOnly
			if t.claims[mount.Source] == "" {
				t.addObstacle("there is no PersistentVolumeClaim %s", mount.Source)
			}
		case v.HostPath != nil:
			mount.Kind = lab.MountBind
			mount.Source = v.HostPath.Path
			t.risks = append(t.risks, fmt.Sprintf("service %s: mounts %s of this host", unit.Name, v.HostPath.Path))
		default:
			t.addObstacle("the volume %s is of no kind that is read", v.Name)
		}
		switch {
		case m.SubPath != "" && mount.Kind == lab.MountFiles:
			if _, exists := mount.Files[m.SubPath]; !exists {
				t.addObstacle("the volume %s has no file %s (subPath)", m.Name, m.SubPath)
			}
			mount.Source = m.SubPath // the only file that is mounted (see lab.MountFiles)
		case m.SubPath != "":
			t.addObstacle("the volume %s is mounted in part (subPath), which only files can be", m.Name)
		}
		unit.Container.Mounts = append(unit.Container.Mounts, mount)
	}
}

// files sets the files of a mount to those of a ConfigMap or a Secret.
func (t *translation) files(mount *lab.ContainerMount, kind, name string, v fileVolume) {
	values := t.configValues(kind, keyRef{Name: name, Optional: v.Optional})
	mount.Files = values
	mount.Executable = v.DefaultMode&0o111 != 0
	if len(v.Items) > 0 {
		mount.Files = map[string]string{}
	}
	for _, item := range v.Items {
		value, exists := values[item.Key]
		if exists {
			mount.Files[item.Path] = value
		} else if !v.Optional {
			t.addObstacle("the %s %s has no key %s", kind, name, item.Key)
		}
	}
	for file := range mount.Files {
		if strings.Contains(file, "/") {
			t.addObstacle("the file %s of the %s %s lies in a folder: give it a name alone", file, kind, name)
		}
	}
}
