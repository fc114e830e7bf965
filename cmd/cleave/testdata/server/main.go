// Command server is a web server for tests of cleave compare. It answers every
// path with a short text, and misbehaves if its flags ask for it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	port := flag.Int("port", 0, "`port` to listen on")
	host := flag.String("host", "127.0.0.1", "`address` to listen on")
	daemon := flag.String("daemon", "", "start a daemon and write its process id to this `file`")
	stubborn := flag.Bool("stubborn", false, "ignore SIGTERM")
	dieAfter := flag.Duration("die-after", 0, "end with exit status 3 after this time")
	sleeps := flag.Bool("sleep", false, "only sleep")
	tell := flag.Bool("tell", false, "print the environment, the arguments and every request")
	calls := flag.String("calls", "", "ask this `URL` before every answer, in the trace of the request")
	check := flag.String("check", "", "ask this `URL` once: end with 1 unless it is answered rightly")
	busy := flag.Duration("busy", 0, "use this much processor time before every answer")
	get := flag.String("get", "", "print what is at this `URL`")
	keep := flag.String("keep", "", "only write this `file`")
	needs := flag.String("needs", "", "end with 4 unless there is this `file`")
	_ = flag.String("token", "", "a secret")
	_ = flag.String("password", "", "a secret")
	flag.Parse()
	switch {
	case *check != "":
		exitOn(ask(*check, ""), 1)
		return
	case *get != "":
		exitOn(show(*get), 1)
		return
	case *keep != "":
		exitOn(os.WriteFile(*keep, nil, 0o600), 1)
		return
	case *needs != "":
		_, err := os.Stat(*needs)
		exitOn(err, 4)
	case *sleeps:
		time.Sleep(time.Hour)
	case *stubborn:
		signal.Ignore(syscall.SIGTERM)
	}
	if *daemon != "" {
		startDaemon(*daemon)
	}
	if *dieAfter > 0 {
		time.AfterFunc(*dieAfter, func() {
			fmt.Println("out of luck")
			os.Exit(3)
		})
	}
	if *tell {
		fmt.Println("told:", os.Getenv("API_TOKEN"), os.Environ(), os.Args)
	}
	var answered atomic.Int64
	// Scenarios and audits ask for the number of answers.
	http.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"count": %d, "parts": [{"name": "all"}]}`, answered.Load())
	})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if *tell {
			body, _ := io.ReadAll(r.Body)
			fmt.Println("told:", r.Header.Get("Authorization"), r.Header, string(body))
		}
		if *calls != "" {
			if err := ask(*calls, r.Header.Get("Traceparent")); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		burn(*busy)
		answered.Add(1)
		fmt.Fprint(w, "hello")
	})
	fmt.Println(http.ListenAndServe(net.JoinHostPort(*host, strconv.Itoa(*port)), nil))
	os.Exit(1)
}

// exitOn ends the program with a status if err is not nil.
func exitOn(err error, status int) {
	if err != nil {
		fmt.Println(err)
		os.Exit(status)
	}
}

// burn uses this processor time.
func burn(length time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(thread, &u) // cannot fail for the own thread
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for begun := used(); used()-begun < length; {
	}
}

// show prints the body of the answer of a URL.
func show(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// ask sends a request, in a trace if parent is not empty, and returns an error unless the status is 200. It
// does not keep the connection, which would always lead to the same replica.
func ask(url, parent string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	if parent != "" {
		request.Header.Set("Traceparent", parent)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// startDaemon starts a process in a new session with an empty environment.
func startDaemon(file string) {
	command := exec.Command(os.Args[0], "-sleep")
	command.Env = []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := command.Start()
	if err == nil {
		err = os.WriteFile(file+".part", []byte(strconv.Itoa(command.Process.Pid)), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".part", file)
	}
	exitOn(err, 1)
}
