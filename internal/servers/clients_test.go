package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/procfs"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/testset"
)

// target is the address of a server with the credentials of a client.
type target interface{ URL() string }

// impostor is a target with a wrong password.
type impostor struct{ *Instance }

func (i impostor) URL() string {
	return strings.ReplaceAll(i.Instance.URL(), password(i.Instance), "wrong")
}

// password returns the password of the server's only user.
func password(i *Instance) string {
	address, _ := url.Parse(i.URL()) // always valid
	text, _ := address.User.Password()
	return text
}

// wordClient writes words into a server durably and reads all of them back.
type wordClient interface {
	write(ctx context.Context, at target, word string) error
	read(ctx context.Context, at target) ([]string, error)
}

// sqlClient is the wordClient of MariaDB and PostgreSQL.
type sqlClient struct{}

// open creates the database and the table of the words if needed, and connects to them.
func (sqlClient) open(ctx context.Context, at target) (*database.DB, error) {
	place, err := database.ParsePlace(at.URL())
	if err != nil {
		return nil, err
	}
	if err := place.Create(ctx, "words"); err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, place.Config("words", 0))
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, "CREATE TABLE IF NOT EXISTS words (word VARCHAR(20) PRIMARY KEY)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (c sqlClient) write(ctx context.Context, at target, word string) error {
	db, err := c.open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.Exec(ctx, "INSERT INTO words VALUES ('"+word+"')")
	return err
}

func (c sqlClient) read(ctx context.Context, at target) ([]string, error) {
	db, err := c.open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	var words []string
	err = db.Each(ctx, func(row database.Row) error {
		var word string
		err := row.Scan(&word)
		words = append(words, word)
		return err
	}, "SELECT word FROM words")
	return words, err
}

// rabbitClient is the wordClient of RabbitMQ.
type rabbitClient struct{}

// queue calls work with a channel that confirms messages and the durable queue of the words.
func (rabbitClient) queue(at target, work func(*amqp.Channel, amqp.Queue) error) error {
	connection, err := amqp.Dial(at.URL())
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	const durable, autoDelete, exclusive, noWait = true, false, false, false
	queue, err := channel.QueueDeclare("words", durable, autoDelete, exclusive, noWait,
		amqp.Table{"x-queue-type": "quorum"})
	if err != nil {
		return err
	}
	return errors.Join(channel.Confirm(noWait), work(channel, queue))
}

func (c rabbitClient) write(ctx context.Context, at target, word string) error {
	return c.queue(at, func(channel *amqp.Channel, queue amqp.Queue) error {
		const defaultExchange, mandatory, immediate = "", true, false
		confirm, err := channel.PublishWithDeferredConfirmWithContext(ctx, defaultExchange, queue.Name, mandatory,
			immediate, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(word)})
		if err != nil {
			return err
		}
		confirmed, err := confirm.WaitContext(ctx)
		if err == nil && !confirmed {
			err = errors.New("the broker did not confirm the message")
		}
		return err
	})
}

// read reads the messages without acknowledging them, up to a mark that it publishes
// first: a queue that was just recovered does not know the number of its messages yet.
func (c rabbitClient) read(ctx context.Context, at target) (words []string, err error) {
	const mark = "."
	if err := c.write(ctx, at, mark); err != nil {
		return nil, err
	}
	err = c.queue(at, func(channel *amqp.Channel, queue amqp.Queue) error {
		const anyName, autoAck, exclusive, noLocal, noWait = "", false, false, false, false
		messages, err := channel.ConsumeWithContext(ctx, queue.Name, anyName, autoAck, exclusive, noLocal, noWait,
			nil)
		if err != nil {
			return err
		}
		for message := range messages {
			if string(message.Body) == mark {
				const multiple = false
				return message.Ack(multiple)
			}
			words = append(words, string(message.Body))
		}
		return errors.New("the broker ended the reading")
	})
	return words, err
}

// natsClient is the wordClient of NATS.
type natsClient struct{}

// stream calls work with a connection and the stream of the words.
func (natsClient) stream(ctx context.Context, at target, work func(js.JetStream, js.Stream) error) error {
	connection, err := nats.Connect(at.URL())
	if err != nil {
		return err
	}
	defer connection.Close()
	client, err := js.New(connection)
	if err != nil {
		return err
	}
	stream, err := client.CreateOrUpdateStream(ctx, js.StreamConfig{Name: "words", Subjects: []string{"words"}})
	if err != nil {
		return err
	}
	return work(client, stream)
}

func (c natsClient) write(ctx context.Context, at target, word string) error {
	return c.stream(ctx, at, func(client js.JetStream, _ js.Stream) error {
		_, err := client.Publish(ctx, "words", []byte(word))
		return err
	})
}

func (c natsClient) read(ctx context.Context, at target) (words []string, err error) {
	err = c.stream(ctx, at, func(_ js.JetStream, stream js.Stream) error {
		info, err := stream.Info(ctx)
		if err != nil {
			return err
		}
		for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
			message, err := stream.GetMsg(ctx, n)
			if err != nil {
				return err
			}
			words = append(words, string(message.Data))
		}
		return nil
	})
	return words, err
}

// mongoClient is the wordClient of servers with MongoDB's protocol.
type mongoClient struct{}

// collection calls work with the collection of the words, whose writes wait for the journal.
func (mongoClient) collection(ctx context.Context, at target, work func(*mongo.Collection) error) error {
	connection, err := mongo.Connect(options.Client().ApplyURI(at.URL()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Disconnect(context.WithoutCancel(ctx)) }()
	journalled := true
	return work(connection.Database("words").Collection("words",
		options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journalled})))
}

func (c mongoClient) write(ctx context.Context, at target, word string) error {
	return c.collection(ctx, at, func(collection *mongo.Collection) error {
		_, err := collection.InsertOne(ctx, bson.D{{Key: "_id", Value: word}})
		return err
	})
}

func (c mongoClient) read(ctx context.Context, at target) (words []string, err error) {
	err = c.collection(ctx, at, func(collection *mongo.Collection) error {
		cursor, err := collection.Find(ctx, bson.D{})
		if err != nil {
			return err
		}
		var documents []struct {
			ID string `bson:"_id"`
		}
		if err := cursor.All(ctx, &documents); err != nil {
			return err
		}
		for _, document := range documents {
			words = append(words, document.ID)
		}
		return nil
	})
	return words, err
}

// startAndWait is the starter's main function: it starts a server, prints the PIDs of its
// processes as JSON and waits to be killed.
func startAndWait(args []string) error {
	instance, err := Start(context.Background(), server.Kind(args[0]), args[1], server.Settings{})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(pids(instance)); err != nil {
		return err
	}
	select {}
}

// killStarter lets another process start a server, kills that process and returns the
// PIDs of the server.
func killStarter(t *testing.T, kind server.Kind) []int {
	t.Helper()
	Need(t, kind)
	starter := exec.Command(os.Args[0], "starter", string(kind), t.TempDir())
	starter.Stderr = os.Stderr
	starter.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // removed at the end of the test
	starter.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := starter.StdoutPipe()
	testset.Must(t, err)
	testset.Must(t, starter.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	_ = starter.Process.Kill()
	_ = starter.Wait()
	testset.Must(t, err)
	var all []int
	testset.Must(t, json.Unmarshal(line, &all))
	return all
}

// pids returns the PIDs of the server's processes, the main process first. Their parent, the keeper of
// deploy/process, is not among them.
func pids(i *Instance) []int {
	below := []int{i.Units()[0].PID}
	all, _ := procfs.AllProcs() // after an error the list is empty
	// below grows while the loop goes through it, until it has all descendants.
	for n := 0; n < len(below); n++ {
		for _, p := range all {
			if stat, err := p.Stat(); err == nil && stat.PPID == below[n] && stat.State != "Z" {
				below = append(below, p.PID)
			}
		}
	}
	return below[1:]
}

// expectGone waits for the end of processes. It reports and kills those that are left.
func expectGone(t *testing.T, pids []int) {
	t.Helper()
	runs := func(pid int) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && !strings.Contains(string(text), ") Z ")
	}
	for end := time.Now().Add(2 * time.Minute); slices.ContainsFunc(pids, runs) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// listeners returns the TCP addresses on which processes listen.
func listeners(t *testing.T, pids []int) []netip.AddrPort {
	t.Helper()
	ours := map[string]bool{}
	for _, pid := range pids {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			file, _ := os.Readlink(link)
			ours[file] = true
		}
	}
	var found []netip.AddrPort
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		testset.Must(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // 1 is the local address, 3 the state (0A: listening), 9 the inode
			if len(fields) > 9 && fields[3] == "0A" && ours["socket:["+fields[9]+"]"] {
				found = append(found, parseAddress(t, fields[1]))
			}
		}
	}
	if len(found) == 0 {
		t.Error("no listening socket found: the search is broken")
	}
	return found
}

// parseAddress parses an address as /proc/net/tcp has it: 32-bit words in hexadecimal, in the machine's byte
// order, a colon and the port. It expects a little-endian machine.
func parseAddress(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	words, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	testset.Must(t, err)
	bytes := make([]byte, 0, 16)
	for ; words != ""; words = words[8:] {
		word, err := strconv.ParseUint(words[:8], 16, 32)
		testset.Must(t, err)
		bytes = append(bytes, byte(word), byte(word>>8), byte(word>>16), byte(word>>24)) // little endian
	}
	address, ok := netip.AddrFromSlice(bytes)
	if !ok {
		t.Fatalf("not an address: %q", text)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port))
}

// expectSecretFiles checks that other users cannot read the files that contain the password.
func expectSecretFiles(t *testing.T, instance *Instance) {
	t.Helper()
	holds := 0
	testset.Must(t, filepath.WalkDir(instance.Volume(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // a running server may remove files at any time
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), password(instance)) {
			holds++
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s holds the password and has mode %v", path, info.Mode())
			}
		}
		return nil
	}))
	// MongoDB and Cassandra get the password over a connection, and store only a hash.
	if holds == 0 && instance.Kind != server.Mongo && instance.Kind != server.Cassandra {
		t.Error("no file holds the password: the search is broken")
	}
}
