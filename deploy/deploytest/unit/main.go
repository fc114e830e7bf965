// Command unit is the unit program of the suite of package deploytest. Each unit plays one part.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "stillborn" { // it ends before it opens its control connection
		fmt.Fprintln(os.Stderr, "stillborn")
		os.Exit(3)
	}
	if len(os.Args) > 1 && os.Args[1] == "serve-late" {
		time.Sleep(deploytest.Late)
	}
	channel, err := unit.Open()
	if err == nil {
		err = play(channel, os.Args[1], os.Args[2:])
	}
	if err == nil || errors.Is(err, unit.ErrGone) {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	if channel != nil {
		_ = channel.Failed(err) // the log has err, too
	}
	os.Exit(1)
}

// play plays a part with its arguments until the unit has to end.
func play(channel *unit.Channel, part string, args []string) error {
	switch part {
	case "lead": // args: the units to be called before it is ready
		return lead(channel, args, 0)
	case "burner": // args: likewise
		return lead(channel, args, deploytest.Burnt)
	case "serve", "serve-late": // the latter opens its control connection late
		return serve(channel)
	case "processors":
		return tell(channel, always(strconv.Itoa(runtime.NumCPU()))) // NumCPU is the number at the start
	case "timer": // args: the unit that it calls
		return timer(channel, args[0])
	case "store": // args: its configuration and what it keeps
		return store(args[0], args[1])
	case "store-for-once": // args: its configuration
		return storeForOnce(args[0])
	case "shelf": // args: the folder with what it reads
		return shelf(args[0])
	case "boxed": // args: the folder that it keeps, and the address
		return boxed(args[0], args[1])
	case "proxy": // args: the units that it looks up
		return proxy(args)
	case "asks": // args: its address, a file, and the address that it asks
		return asks(args[0], args[1], args[2])
	case "hoard":
		return hoard(channel)
	case "die":
		return errors.New("out of luck")
	case "crash":
		os.Exit(3)
	case "move": // args: from, to; without from it makes what is moved
		fmt.Fprintln(os.Stderr, "moves to", args[1])
		if args[0] == "" {
			return os.WriteFile(args[1], []byte("|"), 0o600)
		}
		return os.Rename(args[0], args[1])
	}
	return fmt.Errorf("there is no part %q", part)
}

// lead calls the others, reports ready, burns seconds of processor time as its job, and reports their
// answers.
func lead(channel *unit.Channel, others []string, seconds float64) error {
	var answers []string
	for _, other := range others {
		addresses, err := unit.PeerAddress(other)
		if err != nil {
			return err
		}
		for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
			answer, err := call(address)
			if err != nil {
				return err
			}
			answers = append(answers, answer)
		}
	}
	if address, given := os.LookupEnv("STORE"); given {
		peer, err := unit.PeerAddress("store")
		if err != nil {
			return err
		}
		answers = append(answers, strings.ReplaceAll(address, peer, "its address"))
	}
	if err := errors.Join(channel.Ready(), channel.Await(lab.CommandStart)); err != nil {
		return err
	}
	begun := time.Now()
	if err := burn(seconds); err != nil {
		return err
	}
	err := errors.Join(channel.Finished(time.Since(begun)), channel.Await(lab.CommandStop))
	if err != nil {
		return err
	}
	return channel.Report(strings.Join(answers, " "))
}

// callPatience bounds how long a unit may take to answer. If its container and network are
// gone, connections are not even refused.
const callPatience = 20 * time.Second

// call returns the answer of a unit. It retries for a minute until the unit listens.
func call(address string) (string, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", address, callPatience)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return "", err
		}
		var text []byte
		if err = connection.SetReadDeadline(time.Now().Add(callPatience)); err == nil {
			text, err = io.ReadAll(connection)
		}
		if err == nil && len(text) == 0 { // a proxy may accept for a unit that is gone
			err = io.ErrUnexpectedEOF
		}
		return string(text), errors.Join(err, connection.Close())
	}
}

// burn uses up seconds of processor time.
func burn(seconds float64) error {
	var before, used unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &before)
	last := before.Nano() + lab.Seconds(seconds).Nanoseconds()
	for err == nil && used.Nano() <= last {
		for n := 0; n < 1e6; n++ {
			_ = n * n
		}
		err = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used)
	}
	return err
}

// hoard allocates half a gigabyte of memory.
func hoard(channel *unit.Channel) error {
	hoarded := make([]byte, 512<<20)
	for i := 0; i < len(hoarded); i += os.Getpagesize() {
		hoarded[i] = 1
	}
	return errors.Join(channel.Await(lab.CommandStop), channel.Report(len(hoarded)))
}

// serve sends every caller its name and the number of its life, which it counts in a file of
// its folder. In the end it hands the file over and reports the time of its end, in nanoseconds.
func serve(channel *unit.Channel) error {
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	name := filepath.Base(dir)
	lives := filepath.Join(dir, name+".lives")
	life, err := begin(lives)
	if err != nil {
		return err
	}
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, name, "listens, life", life)
	go answer(listener, func() string {
		says := fmt.Sprintf("%s:%d", name, life)
		if err := write(filepath.Join(dir, "more")); err != nil {
			says += ", " + err.Error()
		}
		return says
	})
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	return errors.Join(channel.HandOver(lives), channel.Report(time.Now().UnixNano()))
}

// timer sends every caller the time that another unit took to answer.
func timer(channel *unit.Channel, other string) error {
	peer, err := unit.PeerAddress(other)
	if err != nil {
		return err
	}
	return tell(channel, func() string {
		begun := time.Now()
		if _, err := call(peer); err != nil {
			return err.Error()
		}
		return time.Since(begun).String()
	})
}

// listen listens at the address of the unit.
func listen() (net.Listener, error) {
	address, err := unit.Address()
	if err != nil {
		return nil, err
	}
	return net.Listen("tcp", address)
}

// tell sends every caller what says returns, until the conductor stops the unit.
func tell(channel *unit.Channel, says func() string) error {
	listener, err := listen()
	if err != nil {
		return err
	}
	go answer(listener, says)
	return errors.Join(channel.Await(lab.CommandStop), channel.Report(nil))
}

// begin counts the lives of a unit in a file, and returns the number of this one.
func begin(lives string) (life int, err error) {
	known, err := os.ReadFile(lives)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	known = append(known, '|')
	return len(known), os.WriteFile(lives, known, 0o600)
}

// boxed plays a foreign program that listens after a while. It sends every caller the number of its lives.
func boxed(folder, address string) error {
	life, err := begin(filepath.Join(folder, "lives"))
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "boxed listens, life", life)
	answer(listener, always(fmt.Sprintf("boxed:%d", life)))
	return nil
}

// asks sends every caller the text of a file, the variable WORD, and the answer of the unit at other.
func asks(address, path, other string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	answer(listener, func() string {
		heard, err := call(other)
		if err != nil {
			heard = err.Error()
		}
		return fmt.Sprintf("%s %s %s", text, os.Getenv("WORD"), heard)
	})
	return nil
}

// write writes a file and removes it. Its error has no path, so that tests can compare the answer.
func write(path string) error {
	err := os.WriteFile(path, make([]byte, 64<<10), 0o600)
	if full := new(fs.PathError); errors.As(err, &full) {
		err = full.Err
	}
	return errors.Join(err, os.Remove(path))
}

func always(text string) func() string { return func() string { return text } }

// answer sends every caller what says returns, until the listener is closed.
func answer(listener net.Listener, says func() string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(connection, says()) // the caller may have gone
		_ = connection.Close()
	}
}

// shelf plays a foreign program that listens after a while. It sends every caller the text of the file
// goods in its folder, with ", may write" if it may write there.
func shelf(folder string) error {
	goods, err := os.ReadFile(filepath.Join(folder, "goods"))
	if err != nil {
		return err
	}
	if os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600) == nil {
		goods = append(goods, ", may write"...)
	}
	time.Sleep(300 * time.Millisecond)
	listener, err := listen()
	if err == nil {
		answer(listener, always(string(goods)))
	}
	return err
}

// proxy plays a foreign program that resolves the addresses of other units once, when it starts.
func proxy(behind []string) error {
	for _, name := range behind {
		peer, err := unit.PeerAddress(name)
		if err != nil {
			return err
		}
		if _, err := net.ResolveTCPAddr("tcp", peer); err != nil {
			return err
		}
	}
	listener, err := listen()
	if err == nil {
		answer(listener, always("knows all"))
	}
	return err
}

// store plays a server: it listens at the two addresses of its configuration and counts
// its lives in a file. It sends every caller the number of its life, or that it runs as root,
// which no server must.
func store(configuration, kept string) error {
	addresses, err := os.ReadFile(configuration)
	if err != nil {
		return err
	}
	life, err := begin(kept)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("store:%d", life)
	if os.Geteuid() == 0 {
		text = "store: I am root"
	}
	for i, address := range strings.Fields(string(addresses)) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		if i == 0 {
			go answer(listener, always(text))
		} else {
			answer(listener, always(text)) // keeps the program running
		}
	}
	return nil
}

// storeForOnce plays a server that ends soon after it was found to be ready.
func storeForOnce(configuration string) error {
	text, err := os.ReadFile(configuration)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", strings.Fields(string(text))[0])
	if err != nil {
		return err
	}
	visited := make(chan struct{})
	visit := sync.OnceFunc(func() { close(visited) })
	go answer(listener, func() string { visit(); return "store:1" })
	<-visited // some deployers take seconds until the first visit
	time.Sleep(3 * time.Second)
	return errors.New("out of shelves")
}
