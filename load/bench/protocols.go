//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/deploy/launch"
)

// Loads over HTTP/2 and gRPC use this number of connections, with this number of streams on each: as many
// requests at once as connections in the other scenes.
const (
	multiplexed = 16
	streams     = connections / multiplexed
)

// servedByNginx returns the scheme of the URL for a scene that needs a protocol or more workers than our own
// target has; ok is false for other scenes.
func servedByNginx(scene string) (scheme string, ok bool) {
	scheme, ok = map[string]string{sceneLoops: "http", sceneHTTPS: "https", sceneH2C: "http",
		sceneH2: "https"}[scene]
	return scheme, ok
}

// nginxText is the configuration of nginx, which answers at once, keeps connections and logs no request. Its
// placeholders are the number of its processes, and the ports of HTTP/1.1, HTTPS, and HTTP/2 in clear text
// and over TLS.
const nginxText = `daemon off; %s; pid nginx.pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000; default_type application/json;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {
    listen 127.0.0.1:%d; listen 127.0.0.1:%d ssl; listen 127.0.0.1:%d http2; listen 127.0.0.1:%d ssl http2;
    ssl_certificate identity.pem; ssl_certificate_key identity.pem;
    location / { return 200 '{"ok":true,"text":"hello, load engine."}'; }
    location = /count { stub_status; }
  }
}
`

// startNginx starts nginx with a number of worker processes on the given processors, and waits until it
// listens. A single worker runs without a master process.
func startNginx(scene, scratch string, workers int, cores string) (*running, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return nil, errors.New("nginx is not found: apt-get install nginx")
		}
	}
	ports, err := launch.ReservePorts(4)
	if err != nil {
		return nil, err
	}
	defer ports.Close()
	n := ports.Numbers
	if err := writeCertificate(filepath.Join(scratch, "identity.pem")); err != nil {
		return nil, err
	}
	processes := "master_process off"
	if workers > 1 {
		processes = fmt.Sprintf("worker_processes %d", workers)
	}
	configuration := filepath.Join(scratch, "nginx.conf")
	if err := os.WriteFile(configuration, fmt.Appendf(nil, nginxText, processes, n[0], n[1], n[2], n[3]),
		0o644); err != nil {
		return nil, err
	}
	ports.Close()
	command := pinned(context.Background(), cores, []string{path, "-p", scratch, "-c", configuration})
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	scheme, _ := servedByNginx(scene)
	port := map[string]int{sceneLoops: n[0], sceneHTTPS: n[1], sceneH2C: n[2], sceneH2: n[3]}[scene]
	t := &running{
		command: command, url: fmt.Sprintf("%s://127.0.0.1:%d/", scheme, port),
		counter: fmt.Sprintf("http://127.0.0.1:%d/count", n[0]),
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := nginxCount(t.counter)
		if err == nil {
			return t, nil
		}
		if time.Since(begun) > 10*time.Second {
			_, stopErr := t.stop()
			return nil, errors.Join(fmt.Errorf("nginx does not listen: %w", err), stopErr)
		}
	}
}

// nginxCount returns the number of requests that nginx has answered, with the one that asks for the
// count. In nginx's status, the numbers of accepted and handled connections and of requests follow the line
// that names them.
func nginxCount(url string) (int64, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return 0, err
	}
	var accepted, handled, requests int64
	_, counts, _ := strings.Cut(string(text), "requests\n")
	if _, err := fmt.Sscan(counts, &accepted, &handled, &requests); err != nil {
		return 0, fmt.Errorf("the status of nginx reads %q: %w", text, err)
	}
	return requests, nil
}

// writeCertificate writes a key and a self-signed certificate into one file.
func writeCertificate(path string) error {
	authority, err := secure.NewAuthority()
	if err != nil {
		return err
	}
	identity, err := authority.Issue("localhost")
	if err != nil {
		return err
	}
	return os.WriteFile(path, identity, 0o600)
}

// serveGRPC runs a target with the health and the reflection service until the context ends. It calls ready
// with the port, and returns the number of calls.
func serveGRPC(ctx context.Context, ready func(port int)) (int64, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := grpc.NewServer()
	counted := &counting{Server: health.NewServer()}
	healthpb.RegisterHealthServer(server, counted)
	reflection.Register(server)
	defer context.AfterFunc(ctx, server.Stop)()
	ready(listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return 0, err
	}
	return counted.calls.Load(), nil
}

// counting is the health service, which counts its calls.
type counting struct {
	*health.Server
	calls atomic.Int64
}

// Check answers and counts the call.
func (c *counting) Check(
	ctx context.Context, request *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	c.calls.Add(1)
	return c.Server.Check(ctx, request)
}
