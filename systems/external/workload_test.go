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
