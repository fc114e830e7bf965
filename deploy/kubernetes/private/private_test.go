package private

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain lets the test program be a conductor that is killed.
func TestMain(m *testing.M) {
	deploytest.Main(m, nil, func(args []string) error {
		_, err := Up(context.Background(), args[0], args[1])
		return err
	})
}

// state describes what a cluster must not change on this host: kernel settings, mounts, links, folders and
// control groups.
func state(t *testing.T, label, dir string) string {
	t.Helper()
	var all []string
	for _, name := range []string{"vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops",
		"net/netfilter/nf_conntrack_max"} {
		text, _ := os.ReadFile(filepath.Join("/proc/sys", name)) // not every kernel has all
		all = append(all, name+"="+strings.TrimSpace(string(text)))
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	testset.Must(t, err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, dir) {
			all = append(all, line)
		}
	}
	links, _ := filepath.Glob("/sys/class/net/cleave-*/ifalias") // it is well formed, as is the next
	for _, link := range links {
		if text, err := os.ReadFile(link); err == nil && strings.TrimSpace(string(text)) == label {
			all = append(all, link)
		}
	}
	for _, path := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers",
		dir} {
		if _, err := os.Stat(path); err == nil {
			all = append(all, path)
		}
	}
	for _, folder := range cgroup.All(cgroup.Root) {
		if folder.Label == label {
			all = append(all, folder.Path)
		}
	}
	return strings.Join(all, "\n")
}

// need skips the test if this host cannot run a cluster.
func need(t *testing.T) {
	t.Helper()
	testset.NeedClusters(t)
	if err := Missing(); err != nil {
		t.Skip(err)
	}
}

// TestAClusterComesAndGoes checks that a cluster runs a pod and leaves nothing behind.
func TestAClusterComesAndGoes(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	before := state(t, deploytest.Label(t), dir)
	begin := time.Now()
	c, err := Up(t.Context(), dir, deploytest.Label(t))
	testset.Must(t, err)
	t.Logf("up after %v", time.Since(begin))
	var pod api.Pod
	pod.Metadata.Name = "first"
	pod.Spec.RestartPolicy = "Never"
	pod.Spec.Containers = []api.Container{{Name: "unit", Image: pauseImage, ImagePullPolicy: "Never",
		Command: []string{"/unit"}}}
	deploytest.NoError(t, c.API.Do(t.Context(), http.MethodPost, "/api/v1/namespaces/default/pods", pod, nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = c.API.Watch(ctx, "default", "", "", func(pod api.Pod, _ bool) {
		if pod.Status.Phase == "Running" {
			cancel()
		}
	})
	if t.Logf("pod after %v", time.Since(begin)); ctx.Err() != context.Canceled {
		t.Errorf("the pod does not run: %v", err)
	}
	begin = time.Now()
	deploytest.NoError(t, c.Close())
	t.Logf("down after %v", time.Since(begin))
	if after := state(t, deploytest.Label(t), dir); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// TestNothingIsLeftOfADeadConductor checks that all processes end with a killed conductor, and that what
// remains is only what the sweeper removes: files and control groups.
func TestNothingIsLeftOfADeadConductor(t *testing.T) {
	need(t)
	const label = "000000-9-9"
	dir := filepath.Join(t.TempDir(), "cluster")
	before := state(t, label, dir)
	deploytest.Kill(t, dir, label)
	deploytest.AwaitGone(t, label)
	// The sweeper does the same.
	deploytest.NoError(t, cgroup.RemoveConductor(cgroup.Root, label))
	deploytest.NoError(t, os.RemoveAll(dir))
	if after := state(t, label, dir); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}
