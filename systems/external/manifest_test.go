package external

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// shopManifests and shopConfig have every supported kind but Ingress.
const shopManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, creationTimestamp: null}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: web:1
        args: [--cart, "http://$(CART)", --price, "$$(X)"]
        env:
        - {name: CART, value: "cart:80"}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}
        - {name: URL, value: "pg://me:$(PASSWORD)@db.shop.svc:5432/x"}
        envFrom: [{configMapRef: {name: conf}, prefix: C_}]
        ports: [{name: http, containerPort: 8080}]
        resources: {limits: {cpu: 500m, memory: 64Mi}, requests: {cpu: 100m}}
        readinessProbe: {httpGet: {path: /ready, port: http}, periodSeconds: 2}
        livenessProbe: {grpc: {port: 1}}
        securityContext:
          {runAsUser: 7, runAsGroup: 8, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts:
        - {name: conf, mountPath: /etc/conf}
        - {name: login, mountPath: /etc/word, subPath: word, readOnly: true}
        - {name: scratch, mountPath: /tmp}
      volumes:
      - {name: conf, configMap: {name: conf, defaultMode: 0755, items: [{key: MODE, path: mode}]}}
      - {name: login, secret: {secretName: login, items: [{key: password, path: word}]}}
      - {name: scratch, emptyDir: {medium: Memory}}
status: {}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: front, namespace: shop}
  spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: http, nodePort: 30080}]}
- apiVersion: v1
  kind: Service
  metadata: {name: db, namespace: shop}
  spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
- apiVersion: v1
  kind: Service
  metadata: {name: cart, namespace: shop}
  spec: {selector: {app: cart}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: db, image: db:1, volumeMounts: [{name: data, mountPath: /data}],
         startupProbe: {exec: {command: [ready]}, failureThreshold: 9}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cart}
spec:
  template:
    metadata: {labels: {app: cart}}
    spec:
      initContainers: [{name: fill, image: fill:1, volumeMounts: [{name: own, mountPath: /own}]}]
      containers:
      - name: cart
        image: cart:1
        volumeMounts: [{name: own, mountPath: /own}, {name: kept, mountPath: /kept}]
      volumes: [{name: own, emptyDir: {}}, {name: kept, persistentVolumeClaim: {claimName: kept}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: m:1, command: [m, "db:5432"]}]}}}
`

// shopConfig is the configuration that shopManifests refers to.
const shopConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {MODE: fast}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: ZnJvbS10aGUtZmlsZQ==}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce]}
`

// manifestFolder returns the folder Shop_1 with these texts as a.yaml, b.yaml and so on.
func manifestFolder(t *testing.T, texts ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Shop_1")
	testset.Must(t, os.Mkdir(dir, 0o700))
	for i, text := range texts {
		testset.Must(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".yaml"), []byte(text), 0o600))
	}
	return dir
}

// ofManifests returns the system of shopManifests in a deployment, its units by name, and the names in order.
func ofManifests(
	t *testing.T, deployment string,
) (d Definition, units map[string]lab.UnitSpec, names []string) {
	t.Helper()
	d, err := OfServices(manifestFolder(t, shopManifests, shopConfig), "")
	testset.Must(t, err)
	all, err := d.In([]string{deployment})
	if err != nil || d.Name != "shop-1" || all[0].Kind() != kindServices {
		t.Fatalf("%s: %+v, %v", d.Name, all, err)
	}
	units, names = layoutOf(t, all[0])
	return all[0], units, names
}

func TestManifestsBecomeUnits(t *testing.T) {
	d, units, names := ofManifests(t, lab.Kubernetes)
	want := []string{"web", "web-2", "db-0", "db-1", "cart-fill", "cart", "migrate", "generator"}
	if !slices.Equal(names, want) {
		t.Errorf("the units are %q, want %q", names, want)
	}
	web := units["web-2"]
	if web.Role != "web" || web.Port != 8080 || web.Limits != (lab.Limits{CPU: 0.5, Memory: 64 << 20}) ||
		!slices.Equal(web.After, []string{"db-0", "db-1", "cart"}) || !web.Readiness.Healthy {
		t.Errorf("web is %+v", web)
	}
	is := lab.ContainerSpec{
		Names: []string{"front", "front.shop", "front.shop.svc", "front.shop.svc.cluster.local"},
		Ports: []lab.ContainerPort{{Port: 80, Target: 8080}},
		Env: []string{"CART=cart:80", "C_MODE=fast", "PASSWORD=from-the-file",
			"URL=pg://me:from-the-file@db.shop.svc:5432/x"},
		Command: []string{"--cart", "http://cart:80", "--price", "$(X)"}, User: "7:8", CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		Health:      &lab.HealthCheck{Port: 8080, Path: "/ready", Interval: 2},
		Mounts: []lab.ContainerMount{
			{Kind: lab.MountFiles, Target: "/etc/conf", Files: map[string]string{"mode": "fast"}, Executable: true},
			{Kind: lab.MountFiles, Source: "word", Target: "/etc/word", ReadOnly: true,
				Files: map[string]string{"word": "from-the-file"}},
			{Kind: lab.MountMemory, Target: "/tmp"},
		},
	}
	if !reflect.DeepEqual(*web.Container, is) {
		t.Errorf("its container is\n%+v, want\n%+v", *web.Container, is)
	}
	db := units["db-1"]
	if !slices.Equal(db.After, []string{"db-0"}) || db.Container.Hostname != "db-1" || db.Role != "db-1" ||
		!slices.Contains(db.Container.Names, "db-1.db.shop.svc.cluster.local") ||
		!slices.Contains(db.Container.Names, "db") ||
		!slices.Equal(db.Container.Health.Test, []string{"CMD", "ready"}) || db.Container.Health.Retries != 9 ||
		!reflect.DeepEqual(db.Container.Mounts, []lab.ContainerMount{{Kind: lab.MountVolume, Target: "/data"}}) {
		t.Errorf("db-1 is %+v with %+v", db, db.Container)
	}
	cart := units["cart"]
	if !slices.Equal(cart.After, []string{"cart-fill"}) || !units["cart-fill"].Finishes ||
		!reflect.DeepEqual(cart.Container.Health, &lab.HealthCheck{Port: 80}) ||
		!reflect.DeepEqual(cart.Container.Mounts, []lab.ContainerMount{
			{Kind: lab.MountVolume, Source: "cart-own", Target: "/own"},
			{Kind: lab.MountVolume, Source: "kept", Target: "/kept"}}) {
		t.Errorf("cart is %+v with %+v", cart, cart.Container)
	}
	if job := units["migrate"]; !job.Finishes || !slices.Equal(job.After, []string{"db-0", "db-1"}) {
		t.Errorf("migrate is %+v", job)
	}
	if g := units["generator"]; !slices.Equal(g.Peers, []string{"web", "web-2"}) {
		t.Errorf("it is loaded by %+v", g)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "the Namespace shop is left out") ||
		!strings.Contains(notes, "volumes are empty at first on Kubernetes") {
		t.Errorf("the notes are %q", d.Notes)
	}
}

// TestEntryPointOfManifests: it is that of an Ingress, a Service for outside, or the chosen one.
func TestEntryPointOfManifests(t *testing.T) {
	const ingress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: in}
spec:
  tls: []
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}]}
`
	for name, c := range map[string]struct{ more, address, entry, message string }{
		"a Service":  {"", "", "web", ""},
		"an Ingress": {ingress, "", "cart", ""},
		"chosen":     {"", "http://db:5432/", "db-0", ""},
		"no Service": {"", "http://shop:1/", "", "leads to no service"},
	} {
		d, err := OfServices(manifestFolder(t, shopManifests, shopConfig, c.more), c.address)
		if c.message != "" {
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s: %v, want it to say %q", name, err, c.message)
			}
			continue
		}
		if err != nil || d.Entry != c.entry {
			t.Errorf("%s: it is entered at %s, %v; want %s", name, d.Entry, err, c.entry)
		}
	}
}

// TestUnsupportedManifestsAreRefused with a message that names the problem.
func TestUnsupportedManifestsAreRefused(t *testing.T) {
	workload := func(spec string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: {labels: " +
			"{app: a}}, spec: {" + spec + "}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n" +
			"spec: {type: NodePort, selector: {app: a}, ports: [{port: 80}]}\n"
	}
	config := func(namespace, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: " + namespace + "}\ndata: {A: \"" +
			value + "\"}\n---\n"
	}
	volume := func(namespace string) string {
		return "---\nkind: PersistentVolumeClaim\nmetadata: {name: v, namespace: " + namespace + "}\n"
	}
	for text, message := range map[string]string{
		workload("containers: [{name: a, image: a}, {name: b, image: b}]"): "Deployment a: its pods have 2 " +
			"containers",
		workload("hostNetwork: true, containers: [{name: a, image: a}]"): `a.yaml:4: spec.template.spec has no key ` +
			`"hostNetwork"`,
		workload("containers: [{name: a, image: a, readinessProbe: {grpc: {port: 1}}}]"): `has no key "grpc"`,
		workload("containers: [{name: a, image: a, env: [{name: X, valueFrom: {fieldRef: " +
			"{fieldPath: status.podIP}}}]}]"): "the variable X comes from what only Kubernetes knows",
		workload("containers: [{name: a, image: a, ports: [{containerPort: 65536}]}]"):      "port 65536 is not",
		workload("containers: [{name: a, image: a, startupProbe: {tcpSocket: {port: 0}}}]"): "port 0 is not",
		workload("containers: [{name: a, image: a, envFrom: [{secretRef: {name: no}}]}]"):   "is no Secret no",
		workload("containers: [{name: a, image: a, resources: {limits: {cpu: Inf}}}]"):      `limit of cpu is "Inf"`,
		workload("containers: [{name: a, image: a, resources: {limits: {memory: 9EiB}}}]"):  `memory is "9EiB"`,
		workload("containers: [{name: a, image: a, volumeMounts: [{name: v, mountPath: /v}]}]"): "there is no " +
			"volume v",
		strings.Replace(workload("containers: [{name: a, image: a}]"), "{name: a}", "{}", 1): `service "" has no name`,
		workload("containers: [{name: a, image: a}]") + "---\napiVersion: batch/v1\nkind: CronJob\n" +
			"metadata: {name: c}\n": "the CronJob c is none of the kinds that are read",
		workload("containers: [{name: a, image: a}]") + "---\napiVersion: v1\nkind: Service\n" +
			"metadata: {name: lost}\nspec: {selector: {app: x}, ports: [{port: 1}]}\n": "Service lost selects no " +
			"workload",
		workload("containers: [{name: a, image: a}]") + "---\napiVersion: v1\nkind: Service\n" +
			"metadata: {name: s, namespace: b}\nspec: {selector: {app: a}, ports: [{port: 1}]}\n": "two Services " +
			"are called s",
		workload("containers: [{name: a, image: a}]") + volume("a") + volume("a") + volume("b"): "a.yaml:17: " +
			"there is another PersistentVolumeClaim v in the namespace a",
		config("a", "1") + config("b", "1") + config("b", "2") +
			workload("containers: [{name: a, image: a}]"): "a.yaml:11: there is another ConfigMap c with other values",
	} {
		_, err := OfServices(manifestFolder(t, text), "")
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v, want it to say %q", err, message)
		}
	}
	folder := manifestFolder(t, workload("containers: [{name: a, image: a, securityContext: "+
		"{privileged: true}}]"))
	d, err := OfServices(folder, "")
	if err != nil || !slices.Equal(d.Risks, []string{"service a: is privileged (true) or has capabilities ()"}) {
		t.Errorf("the risks are %q, %v", d.Risks, err)
	}
}

// TestFoldersOfManifests: subfolders are read if the folder has no manifests of its own. Volumes belong to
// the trial. Nothing waits for a Service of several ports, since some of them may stay closed. A unit that
// ends with an error starts again unless its pod forbids it.
func TestFoldersOfManifests(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"web/web.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 81}]}
`, "fill/job/job.yml": `
apiVersion: batch/v1
kind: Job
metadata: {name: fill}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: fill, image: fill}]}}}
`, "fill/volume.json": `{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}}`} {
		file := filepath.Join(folder, name)
		testset.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testset.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	d, err := OfServices(folder, "http://web:80/")
	testset.Must(t, err)
	units, names := layoutOf(t, d)
	web, fill := units["web"], units["fill"]
	if len(names) != 3 || web.Container.Health != nil || web.Readiness.Healthy || !web.Restarts ||
		fill.Restarts {
		t.Errorf("%q: web is waited for by %v, and starts again: %t, and fill: %t", names, web.Container.Health,
			web.Restarts, fill.Restarts)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "PersistentVolume disk is left out") {
		t.Errorf("the notes are %q", d.Notes)
	}
	own := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: own}\n" +
		"spec: {template: {spec: {containers: [{name: own, image: own}]}}}\n"
	testset.Must(t, os.WriteFile(filepath.Join(folder, "own.yaml"), []byte(own), 0o600))
	d, err = OfServices(folder, "http://own:80/")
	if err != nil || !slices.Equal(d.Units(), []string{"own"}) {
		t.Errorf("with a manifest of its own the folder is %q, %v", d.Units(), err)
	}
}

// TestManifestsMayBeginWithEmptyDocuments, as Helm writes them.
func TestManifestsMayBeginWithEmptyDocuments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.yaml")
	testset.Must(t, os.WriteFile(file, []byte("---\n# Source: chart/off.yaml\n---\napiVersion: apps/v1\n"+
		"kind: Deployment\nmetadata: {name: web}\n"+
		"spec: {template: {spec: {containers: [{name: web, image: web}]}}}\n"), 0o600))
	if d, err := OfServices(file, "http://web:80/"); err != nil || d.Entry != "web" {
		t.Errorf("it is entered at %q, %v", d.Entry, err)
	}
}

// TestManifestsMeanWhatTheyDoToKubernetes: variables in values from elsewhere are plain text, optional
// references may be missing, and two Services may lead to the same port.
func TestManifestsMeanWhatTheyDoToKubernetes(t *testing.T) {
	d, err := OfServices(manifestFolder(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web
        env:
        - {name: MODE, value: fast}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}
        - {name: URL, value: "pg://$(PASSWORD)@db"}
        volumeMounts: [{name: none, mountPath: /none}]
      volumes: [{name: none, configMap: {name: none, optional: true, items: [{key: a, path: a}]}}]
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: "a$$b$(MODE)"}
---
apiVersion: v1
kind: Service
metadata: {name: web-pods}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, targetPort: "8080"}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: "8080"}]}
`), "")
	testset.Must(t, err)
	units, _ := layoutOf(t, d)
	c := units["web"].Container
	want := []string{"MODE=fast", "PASSWORD=a$$b$(MODE)", "URL=pg://a$$b$(MODE)@db"}
	if !slices.Equal(c.Env, want) {
		t.Errorf("the variables are %q, want %q", c.Env, want)
	}
	if !slices.Equal(c.Ports, []lab.ContainerPort{{Port: 80, Target: 8080}}) ||
		!reflect.DeepEqual(c.Health, &lab.HealthCheck{Port: 8080}) {
		t.Errorf("it is called at %+v, and waited for by %+v", c.Ports, c.Health)
	}
}
