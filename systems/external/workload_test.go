package external

import (
	"strings"
	"testing"
)

// TestPodsShareTheirObstacles: what the pods of a StatefulSet lack is said once.
func TestPodsShareTheirObstacles(t *testing.T) {
	_, err := OfServices(manifestFolder(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  replicas: 9
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: no}}]}]}
`), "")
	if err == nil || strings.Count(err.Error(), "there is no Secret no") != 1 {
		t.Errorf("nine pods without their Secret: %v, want it once", err)
	}
}

// TestBackendsOfAnIngressMustExist: what leads nowhere is refused, not ignored.
func TestBackendsOfAnIngressMustExist(t *testing.T) {
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: " +
		"{labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}\n---\napiVersion: v1\nkind: Service\n" +
		"metadata: {name: s}\nspec: {type: NodePort, selector: {app: a}, ports: [{port: 80}]}\n---\n" +
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: in}\nspec: {defaultBackend: {service: "
	for service, message := range map[string]string{
		"{name: s, port: {}}":             "names no Service, or no port",
		"{name: '', port: {number: 80}}":  "names no Service, or no port",
		"{name: s, port: {number: 81}}":   "no Service s has the port 81",
		"{name: s, port: {name: public}}": "no Service s has the port public",
	} {
		_, err := OfServices(manifestFolder(t, web+service+"}}\n"), "")
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want it to say %q", service, err, message)
		}
	}
}
