package external

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestManifestsAreReadWithinLimits: the limits also count copies by aliases, so that a small file cannot fill
// the memory.
func TestManifestsAreReadWithinLimits(t *testing.T) {
	web := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: &labels {app: web}}\n" +
		"spec: {selector: {matchLabels: *labels}, template: {metadata: {labels: *labels}, " +
		"spec: {containers: [{name: web, image: web:1, ports: [{containerPort: 80}]}]}}}\n" +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n" +
		"spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}\n"
	if d, err := OfServices(manifestFolder(t, web), ""); err != nil || d.Entry != "web" {
		t.Errorf("aliases: entered at %q, %v", d.Entry, err)
	}
	laughs := "metadata: {annotations: {a0: &a0 [x, x, x, x, x, x, x, x, x, x]"
	for i := range 9 {
		laughs += fmt.Sprintf(", a%d: &a%d [%s*a%d]", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for text, message := range map[string]string{
		laughs + "}}\n":         "a.yaml:1: more than 500000 values in the file",
		"kind: &a [*a]\n":       "a.yaml:1: nested deeper than 64 levels",
		web + "---\nkind: [}\n": "a.yaml:11: this is no YAML",
		"kind: " + strings.Repeat("[", 99) + strings.Repeat("]", 99): "a.yaml:1: nested deeper than 64 levels",
	} {
		_, err := OfServices(manifestFolder(t, text), "")
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%.40q: %v, want it to say %q", text, err, message)
		}
	}
}

// FuzzManifests: any file of manifests is a system whose services have names, or gives an error with a
// message.
func FuzzManifests(f *testing.F) {
	f.Add([]byte(shopManifests + "---" + shopConfig))
	for _, text := range []string{"", "---\n---\n", "kind: List\nitems: [1, {kind: List, items: {}}]",
		"kind: &a [*a]", "kind: Deployment\nmetadata: 1\nspec: {template: {spec: {containers: [{}]}}}",
		"kind: Service\nspec: {ports: [{port: -1, targetPort: x}]}", "kind: Ingress\nspec: {rules: [{}]}",
		strings.Replace(shopManifests, "replicas: 2\n  serviceName", "replicas: 2000000000\n  serviceName", 1)} {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "all.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		testset.Must(t, os.WriteFile(file, data, 0o600))
		d := Definition{manifests: file}
		err := d.resolve()
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%q: an error without words", data)
		}
		if err == nil && (d.Entry == "" || slices.Contains(d.Units(), "")) {
			t.Errorf("%q: a system of %q that is entered at %q", data, d.Units(), d.Entry)
		}
	})
}
