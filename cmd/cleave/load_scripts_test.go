package main

import (
	"context"
	"encoding/csv"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestLoadScripts runs `cleave load` against servers of known behaviour: $HTTP,
// $HTTPS (with $CA), $SOCKET and $GRPC (with $PROTOSET).
func TestLoadScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/load",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BINARIES", binaries)
			return errors.Join(serveWeb(env), serveSocket(env), serveGRPC(env))
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "valid": valid, "loads": loads, "due": due, "has": has, "lines": lines, "column": column,
		},
	})
}

// loads ARGS... runs cleave load and expects success, or a load that was limited by the
// client: on a busy host that happens and does not affect what is tested.
func loads(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("cleave", append([]string{"load"}, args...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitLoadNotReached {
		errOut := ts.ReadFile("stderr")
		if strings.Contains(errOut, "the client, not the system, was the limit") ||
			strings.Contains(errOut, "the load was not achieved") {
			return
		}
	}
	ts.Check(err)
}

// due FILE N checks that N flows of one step were due (sent or unsent).
func due(ts *testscript.TestScript, _ bool, args []string) {
	got := dueFlows(ts.ReadFile(args[0]))
	if want, err := strconv.ParseInt(args[1], 10, 64); err != nil || got != want {
		ts.Fatalf("%d flows were due, want %s", got, args[1])
	}
}

// dueFlows returns the number of flows of one step that were due, from the JSON document of a load.
func dueFlows(document string) int64 {
	return gjson.Get(document, "sent").Int() + gjson.Get(document, "unsent").Int()
}

// has FILE PATH VALUE checks a member of a JSON document.
func has(ts *testscript.TestScript, neg bool, args []string) {
	if got := gjson.Get(ts.ReadFile(args[0]), args[1]).String(); (got == args[2]) == neg {
		ts.Fatalf("%s is %q, want %q: %t", args[1], got, args[2], !neg)
	}
}

// lines FILE JSON PATH [MORE] checks that a file has as many lines as the member at a path of
// a JSON document says, plus MORE. The path "due" stands for the flows that were due.
func lines(ts *testscript.TestScript, _ bool, args []string) {
	got := int64(strings.Count(ts.ReadFile(args[0]), "\n"))
	want := gjson.Get(ts.ReadFile(args[1]), args[2]).Int()
	if args[2] == "due" {
		want = dueFlows(ts.ReadFile(args[1]))
	}
	if len(args) > 3 {
		more, err := strconv.ParseInt(args[3], 10, 64)
		ts.Check(err)
		want += more
	}
	if got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}

// column FILE NAME VALUE... checks the set of values in a column of a CSV file.
func column(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	at := slices.Index(rows[0], args[1])
	if at < 0 {
		ts.Fatalf("%s has no column %s among %q", args[0], args[1], rows[0])
	}
	var values []string
	for _, row := range rows[1:] {
		values = append(values, row[at])
	}
	slices.Sort(values)
	if got := slices.Compact(values); !slices.Equal(got, args[2:]) {
		ts.Fatalf("%s has %q under %s, want %q", args[0], got, args[1], args[2:])
	}
}

// web is the handler of the servers: each path has a behaviour that the scripts test.
func web(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/out":
		_, _ = io.WriteString(w, `{"ok":false,"error":"out of stock"}`)
	case "/slow":
		time.Sleep(200 * time.Millisecond)
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "no such till,\n\task %s", r.Header.Get("X-Key"))
	case "/login":
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		_, _ = io.WriteString(w, `{"token":"t1"}`)
	case "/basket/t1":
		if _, err := r.Cookie("session"); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.Copy(w, r.Body)
	default:
		w.Header().Set("X-Protocol", r.Proto)
		fmt.Fprintf(w, `{"ok":true,"protocol":%q,"closes":%t}`, r.Proto, r.Close)
	}
}

// serveWeb serves $HTTP, with HTTP/2 in clear text, and $HTTPS.
func serveWeb(env *testscript.Env) error {
	plain := httptest.NewUnstartedServer(http.HandlerFunc(web))
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	env.Defer(plain.Close)
	encrypted := httptest.NewUnstartedServer(http.HandlerFunc(web))
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	env.Defer(encrypted.Close)
	env.Setenv("HTTP", plain.URL)
	env.Setenv("HTTPS", encrypted.URL)
	authority := filepath.Join(env.WorkDir, "ca.pem")
	env.Setenv("CA", authority)
	return os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: encrypted.Certificate().Raw}), 0o600)
}

// serveSocket serves web at the Unix socket $SOCKET.
func serveSocket(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "cleave-") // the path of a socket must be short
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "unix", path)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(web), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	env.Defer(func() { _ = server.Close() })
	env.Setenv("SOCKET", path)
	return nil
}

// serveGRPC serves the health service, with reflection, at $GRPC.
func serveGRPC(env *testscript.Env) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }() // until it is stopped
	env.Defer(server.Stop)
	env.Setenv("GRPC", "grpc://"+listener.Addr().String())
	health := protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{health}}
	text, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	path := filepath.Join(env.WorkDir, "health.protoset")
	env.Setenv("PROTOSET", path)
	return os.WriteFile(path, text, 0o600)
}
