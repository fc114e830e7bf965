package server

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	natsclient "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/cleave-lab/cleave/backing/database"
)

// keeper writes words into a server durably and reads all of them back.
type keeper interface {
	write(ctx context.Context, instance *Instance, word string) error
	read(ctx context.Context, instance *Instance) ([]string, error)
	disguised(instance *Instance) *Instance
}

// impostor gives a copy of an instance the wrong password.
type impostor struct{}

func (impostor) disguised(instance *Instance) *Instance {
	return &Instance{Kind: instance.Kind, ports: instance.ports, user: instance.user, password: "wrong"}
}

type sqlKeeper struct{ driver string }

func (k sqlKeeper) disguised(instance *Instance) *Instance { return impostor{}.disguised(instance) }

func (k sqlKeeper) open(ctx context.Context, instance *Instance) (*sql.DB, error) {
	place, err := database.ParsePlace(instance.URL())
	if err != nil {
		return nil, err
	}
	if err := place.Create(ctx, "words"); err != nil {
		return nil, err
	}
	db, err := sql.Open(k.driver, instance.DSN("words"))
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS words (word VARCHAR(20) PRIMARY KEY)")
	return db, err
}

func (k sqlKeeper) write(ctx context.Context, instance *Instance, word string) error {
	database, err := k.open(ctx, instance)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	_, err = database.ExecContext(ctx, "INSERT INTO words VALUES ('"+word+"')")
	return err
}

func (k sqlKeeper) read(ctx context.Context, instance *Instance) ([]string, error) {
	database, err := k.open(ctx, instance)
	if err != nil {
		return nil, err
	}
	defer func() { _ = database.Close() }()
	rows, err := database.QueryContext(ctx, "SELECT word FROM words")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var words []string
	for rows.Next() {
		var word string
		if err := rows.Scan(&word); err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, rows.Err()
}

type rabbitKeeper struct{ impostor }

func (rabbitKeeper) queue(instance *Instance, work func(*amqp.Channel, amqp.Queue) error) error {
	connection, err := amqp.Dial(instance.DSN(""))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	queue, err := channel.QueueDeclare("words", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	if err != nil {
		return err
	}
	return errors.Join(channel.Confirm(false), work(channel, queue))
}

func (k rabbitKeeper) write(ctx context.Context, instance *Instance, word string) error {
	return k.queue(instance, func(channel *amqp.Channel, queue amqp.Queue) error {
		confirm, err := channel.PublishWithDeferredConfirmWithContext(ctx, "", queue.Name, true, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(word)})
		if err != nil {
			return err
		}
		if confirmed, err := confirm.WaitContext(ctx); err != nil || !confirmed {
			return fmt.Errorf("confirmed %v: %w", confirmed, err)
		}
		return nil
	})
}

// read looks at the messages without taking them, up to a mark that it puts
// behind them: a queue that has just been recovered does not know yet how many
// it has.
func (k rabbitKeeper) read(ctx context.Context, instance *Instance) (words []string, err error) {
	const mark = "."
	if err := k.write(ctx, instance, mark); err != nil {
		return nil, err
	}
	err = k.queue(instance, func(channel *amqp.Channel, queue amqp.Queue) error {
		messages, err := channel.ConsumeWithContext(ctx, queue.Name, "", false, false, false, false, nil)
		if err != nil {
			return err
		}
		for message := range messages {
			if string(message.Body) == mark {
				return message.Ack(false)
			}
			words = append(words, string(message.Body))
		}
		return errors.New("the broker ended the reading")
	})
	return words, err
}

type natsKeeper struct{ impostor }

func (natsKeeper) stream(ctx context.Context, instance *Instance, work func(js.JetStream, js.Stream) error) error {
	connection, err := natsclient.Connect(instance.DSN(""))
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

func (k natsKeeper) write(ctx context.Context, instance *Instance, word string) error {
	return k.stream(ctx, instance, func(client js.JetStream, _ js.Stream) error {
		_, err := client.Publish(ctx, "words", []byte(word))
		return err
	})
}

func (k natsKeeper) read(ctx context.Context, instance *Instance) (words []string, err error) {
	err = k.stream(ctx, instance, func(_ js.JetStream, stream js.Stream) error {
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

type mongoKeeper struct{ impostor }

func (mongoKeeper) collection(ctx context.Context, instance *Instance, work func(*mongo.Collection) error) error {
	return withMongo(ctx, instance.DSN("words"), func(client *mongo.Client) error {
		journalled := true
		return work(client.Database("words").Collection("words",
			options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journalled})))
	})
}

func (k mongoKeeper) write(ctx context.Context, instance *Instance, word string) error {
	return k.collection(ctx, instance, func(collection *mongo.Collection) error {
		_, err := collection.InsertOne(ctx, bson.D{{Key: "_id", Value: word}})
		return err
	})
}

func (k mongoKeeper) read(ctx context.Context, instance *Instance) (words []string, err error) {
	err = k.collection(ctx, instance, func(collection *mongo.Collection) error {
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

// startAndWait is the starter's main function: it names its instance's processes
// and waits to be killed.
func startAndWait(kind Kind, dir string) error {
	instance, err := Start(context.Background(), kind, dir, Settings{NATSCommand: natsCommand()})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(instance.PIDs()); err != nil {
		return err
	}
	select {}
}

// killStarter has another process start an instance, kills that process and
// returns the instance's processes.
func killStarter(t *testing.T, kind Kind) []int {
	t.Helper()
	if _, err := installedOf(kind); err != nil {
		t.Skip(err)
	}
	starter := exec.Command(os.Args[0], "starter", string(kind), t.TempDir())
	starter.Stderr = os.Stderr
	starter.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := starter.StdoutPipe()
	must(t, err)
	must(t, starter.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	_ = starter.Process.Kill()
	_ = starter.Wait()
	must(t, err)
	var pids []int
	must(t, json.Unmarshal(line, &pids))
	return pids
}

func installedOf(kind Kind) (Installed, error) {
	program, err := programOf(kind)
	if err != nil {
		return Installed{}, err
	}
	return program.installed(Settings{NATSCommand: natsCommand()})
}

// expectGone waits for the end of processes. What is left is named and killed.
func expectGone(t *testing.T, pids []int) {
	t.Helper()
	var family []relative
	for _, pid := range pids {
		if p, ok := look(pid); ok {
			family = append(family, p)
		}
	}
	for end := time.Now().Add(2 * time.Minute); len(family) > 0 && time.Now().Before(end); time.Sleep(pollEvery) {
		family = living(family)
	}
	for _, p := range family {
		t.Errorf("process %d is left", p.pid)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// listeners lists the addresses at which processes accept connections.
func listeners(t *testing.T, pids []int) []netip.AddrPort {
	t.Helper()
	ours := map[string]bool{}
	for _, pid := range pids {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			target, _ := os.Readlink(link)
			ours[target] = true
		}
	}
	var found []netip.AddrPort
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		must(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
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

// parseAddress reads the kernel's form: words of the address in the machine's
// byte order, a colon, the port.
func parseAddress(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	words, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	must(t, err)
	bytes := make([]byte, 0, 16)
	for ; words != ""; words = words[8:] {
		word, err := strconv.ParseUint(words[:8], 16, 32)
		must(t, err)
		bytes = append(bytes, byte(word), byte(word>>8), byte(word>>16), byte(word>>24)) // little endian
	}
	address, ok := netip.AddrFromSlice(bytes)
	if !ok {
		t.Fatalf("not an address: %q", text)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port))
}

// expectSecretFiles checks that no other user can read a file that has the
// password in it.
func expectSecretFiles(t *testing.T, instance *Instance) {
	t.Helper()
	entries, err := os.ReadDir(instance.dir)
	must(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(instance.dir, entry.Name()))
		must(t, err)
		if strings.Contains(string(text), instance.password) {
			t.Errorf("%s holds the password and has mode %v", entry.Name(), info.Mode())
		}
	}
}
