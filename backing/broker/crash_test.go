package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// consumerJob is the part of a Config that can be passed to the consumer's process, as JSON.
type consumerJob struct {
	URL     string
	Classic bool
	AckWait time.Duration
}

// holdOneMessage is the main function of the consumer's process: it takes a message from the queue "views",
// prints its ID and never finishes.
func holdOneMessage(job string) error {
	var j consumerJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		return err
	}
	c, err := Open(Config{URL: j.URL, Classic: j.Classic, AckWait: j.AckWait})
	if err != nil {
		return err
	}
	if err := c.Declare(context.Background(), shop()); err != nil {
		return err
	}
	return c.Consume(context.Background(), Subscription{Queue: "views"},
		func(_ context.Context, d []Delivery) error {
			fmt.Println(d[0].ID)
			select {}
		})
}

// killConsumer starts a process that consumes, kills it when it holds a message, and
// returns the ID of that message.
func killConsumer(t *testing.T, f *fixture) string {
	t.Helper()
	text, err := json.Marshal(consumerJob{f.config.URL, f.config.Classic, f.config.AckWait})
	testset.Must(t, err)
	command := exec.CommandContext(within(t), os.Args[0], "consumer", string(text))
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	testset.Must(t, err)
	testset.Must(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = command.Process.Kill()
	_ = command.Wait()
	testset.Must(t, err)
	return strings.TrimSpace(line)
}

func killedConsumer(t *testing.T, f *fixture) {
	f = f.impatient()
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(3, "order.confirmed")...))
	if id := killConsumer(t, f); id != "00000" {
		t.Errorf("the consumer held %q", id)
	}
	s := newSink()
	consume(t, c, Subscription{Queue: "views"}, s.handle)
	for _, d := range s.await(t, 3) {
		if d.ID == "00000" && d.Attempt < 2 {
			t.Errorf("message %s is delivered again as attempt %d", d.ID, d.Attempt)
		}
	}
	awaitDepth(t, c, "views", Depth{})
}

func poisonIsBuried(t *testing.T, f *fixture) {
	f = f.impatient()
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), Message{ID: "poison", Type: "order.confirmed"}))
	for range 3 { // the delivery limit of the queue
		killConsumer(t, f)
	}
	s := newSink()
	consume(t, c, Subscription{Queue: "views"}, s.handle)
	if f.config.Classic { // classic queues mark a redelivery, but do not count attempts: see the package comment
		if d := s.await(t, 1)[0]; d.ID != "poison" || d.Attempt != 2 {
			t.Errorf("handled %+v", d)
		}
		return
	}
	awaitDepth(t, c, DeadLetters("views"), Depth{Ready: 1})
	if len(s.all) != 0 {
		t.Errorf("handled %v", s.all)
	}
	dead := newSink()
	consume(t, c, Subscription{Queue: DeadLetters("views")}, dead.handle)
	if got := dead.await(t, 1)[0]; got.ID != "poison" || len(got.Headers) > 0 {
		t.Errorf("dead letter = %+v, want poison without headers of the broker", got)
	}
}

func publishFailsWithoutBroker(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, f.instance.Kill())
	defer func() { testset.Must(t, f.instance.Restart(within(t))) }()
	ctx, cancel := context.WithTimeout(within(t), 300*time.Millisecond)
	defer cancel()
	err := c.Publish(ctx, numbered(3, "order.confirmed")...)
	var failed *PublishError
	if !errors.As(err, &failed) || !slices.Equal(failed.Unconfirmed, []int{0, 1, 2}) {
		t.Errorf("error = %v, want one that names three messages", err)
	}
}

func wrongPassword(t *testing.T, f *fixture) {
	config := f.config
	config.URL = strings.Replace(config.URL, "cleave:", "cleave:not", 1) // changes the password of user cleave
	c, err := Open(config)
	testset.Must(t, err)
	defer func() { testset.Must(t, c.Close()) }()
	want := "connect to " + string(f.instance.Kind)
	if err := c.Declare(within(t), shop()); err == nil || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want a refusal to %s", err, want)
	}
}

// ledger records the messages of a publisher.
type ledger struct {
	mu                   sync.Mutex
	attempted, confirmed map[string]bool
}

// publish publishes batches until ctx is done.
func (l *ledger) publish(ctx context.Context, c Client) {
	for round := 0; ctx.Err() == nil; round++ {
		messages := numbered(50, "order.confirmed")
		for n := range messages {
			messages[n].ID = fmt.Sprint(round, "-", n)
		}
		lost := map[int]bool{}
		var failed *PublishError
		if errors.As(c.Publish(ctx, messages...), &failed) {
			for _, n := range failed.Unconfirmed {
				lost[n] = true
			}
		}
		l.mu.Lock()
		for n, m := range messages {
			l.attempted[m.ID] = true
			if !lost[n] {
				l.confirmed[m.ID] = true
			}
		}
		l.mu.Unlock()
	}
}

// compare returns the ids of messages that were confirmed but not handled, and of those that were
// handled but never published. The publisher must have ended.
func (l *ledger) compare(s *sink) (missing, unknown []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	handled := map[string]bool{}
	for _, d := range s.all {
		handled[d.ID] = true
		if !l.attempted[d.ID] {
			unknown = append(unknown, d.ID)
		}
	}
	for id := range l.confirmed {
		if !handled[id] {
			missing = append(missing, id)
		}
	}
	return missing, unknown
}

// confirmedOutlivesKill publishes and consumes while the broker is killed and restarted
// twice: all confirmed messages must be handled.
func confirmedOutlivesKill(t *testing.T, f *fixture) {
	c := f.impatient().client(t, shop())
	s := newSink()
	consume(t, c, Subscription{Queue: "views", Batch: 10}, s.handle)
	l := &ledger{attempted: map[string]bool{}, confirmed: map[string]bool{}}
	ctx, cancel := context.WithCancel(within(t))
	var publisher sync.WaitGroup
	publisher.Go(func() { l.publish(ctx, c) })
	for range 2 {
		s.await(t, 500) // so that the broker is killed under load
		testset.Must(t, f.instance.Kill())
		testset.Must(t, f.instance.Restart(within(t)))
	}
	s.await(t, 500)
	cancel()
	publisher.Wait()
	missing, unknown := l.compare(s)
	end := time.Now().Add(4 * time.Minute)
	for ; len(missing) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		missing, unknown = l.compare(s)
	}
	if len(missing) > 0 || len(unknown) > 0 {
		t.Fatalf("of %d confirmed messages %d are lost: %v; handled but never published: %v", len(l.confirmed),
			len(missing), missing, unknown)
	}
	awaitDepth(t, c, "views", Depth{})
	t.Logf("%d published, %d confirmed, %+v", len(l.attempted), len(l.confirmed), c.Counts())
}
