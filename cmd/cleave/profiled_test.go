package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/lab"
)

// profiledFile is a compose file. Its front is profiledServer, in Node.js, and calls the cart, which is in
// Go; idle is a shell script. The front runs as a user who cannot open ports below 1024 in a pod. If it is
// profiled, it leaves SIGTERM to the profiler.
const (
	profiledFile = `
name: shop
services:
  front:
    image: ` + nodeImage + `
    command: [/usr/bin/node, /srv/server.js]
    volumes: ["./server.js:/srv/server.js:ro"]
    ports: ["8080:8000"]
    user: "1000"
    depends_on: {cart: {condition: service_healthy}}
  cart:
    image: ` + composeImage + `
    command: [-host, "", -port, "81"]
    expose: ["81"]
    healthcheck: {test: [CMD, /program, -check, "http://127.0.0.1:81/"], interval: 300ms}
  idle: {image: ` + nodeImage + `, command: [/bin/sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]}
`
	profiledServer = `
const http = require('node:http');
http.createServer((request, response) => http.get('http://cart:81/', (answer) => {
  answer.resume();
  for (let i = 0; i < 100; i++) JSON.parse(JSON.stringify({ items: [1, 2, 3] }));
  answer.on('end', () => response.end('ok'));
})).listen(8000);
if (!process.env.CLEAVE_PROFILES) process.on('SIGTERM', () => process.exit());
`
	nodeImage = "cleave-node-test:1"
)

// buildNode builds an image with the Node.js and the shell of this host.
func buildNode() error {
	const script = `cd / && exec 2>&1
tar --create --dereference bin/sh bin/sleep usr/bin/node \
  $(ldd bin/sh bin/sleep usr/bin/node | grep -o '/lib[^ ]*\.so[^ :]*' | sort -u | cut -c 2-) |
  docker import - ` + nodeImage
	if said, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("make an image with Node.js: %w\n%s", err, said)
	}
	return nil
}

// playProfiled profiles the services in the deployment of the arguments, and checks the layers of each.
func playProfiled(t *testing.T, args ...string) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/node"); err != nil {
		t.Skip(err)
	}
	dockertest.Once(t, composeImage, buildServer)
	dockertest.Once(t, nodeImage, buildNode)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"shop.yaml": profiledFile, "server.js": profiledServer})
	played := playedComparison(t, dir, append(args, "shop.yaml", "less=shop.yaml cart.cpu=0.5", "-d", "3s",
		"--profile=1")...)
	for _, variant := range []string{"shop", "less"} {
		trials := played[variant]
		i := slices.IndexFunc(trials, func(trial lab.Trial) bool { return trial.Profiled })
		if i < 0 || len(trials[i].Layers) != 3 {
			t.Fatalf("%s was not profiled in %d trials", variant, len(trials))
		}
		cart := trials[i].Layers[0]
		front := trials[i].Layers[1]
		idle := trials[i].Layers[2]
		if front.Runtime != "node" || front.Samples < 10 || front.Seconds[lab.LayerKernel] == 0 {
			t.Errorf("%s: the front is %+v", variant, front)
		}
		used := 0.0
		for _, seconds := range cart.Seconds {
			used += seconds
		}
		// The usage of threads is counted in ticks of 10 ms. If there is little, it cannot be divided.
		divided := used < 0.2 || cart.Seconds[lab.LayerKernel]+cart.Seconds[lab.LayerRuntime] > 0
		if permitted := !strings.Contains(cart.Unsampled, "CAP_PERFMON"); permitted &&
			(cart.Runtime != "go" || cart.Samples == 0 || !divided) {
			t.Errorf("%s: the cart is %+v", variant, cart)
		}
		if idle.Runtime != "" || idle.Unsampled == "" ||
			idle.Seconds[lab.LayerUnseen]+idle.Seconds[lab.LayerKernel] == 0 {
			t.Errorf("%s: what cannot be profiled is %+v", variant, idle)
		}
	}
}

// TestServicesAreProfiled profiles services in Docker on this host.
func TestServicesAreProfiled(t *testing.T) {
	t.Parallel()
	playProfiled(t)
	expectNoContainers(t)
}

// TestServicesAreProfiledOnASwarm profiles services on a swarm whose nodes are all on this host.
func TestServicesAreProfiledOnASwarm(t *testing.T) {
	needSwarm(t)
	playProfiled(t, "--deploy", "swarm")
}

// TestServicesAreProfiledOnKubernetes profiles services in pods.
func TestServicesAreProfiledOnKubernetes(t *testing.T) {
	needKubernetes(t)
	playProfiled(t, "--deploy", "kubernetes")
}
