package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RabbitMQ listens on three ports: clients, the Erlang distribution, and the
// port mapper (epmd), of which every instance has its own: the host's one would
// listen for everybody and outlive the broker.
const (
	amqpPort = iota
	distributionPort
	mapperPort
	rabbitPorts
)

// rabbitNode is the broker's name in its own Erlang world of one.
const rabbitNode = "cleave@localhost"

// rabbitFolders are where distributions put the broker's own scripts. The
// wrappers in PATH change the user and write to /var.
func rabbitFolders() []string {
	return []string{"/usr/lib/rabbitmq/bin", "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin", "/opt/rabbitmq/sbin"}
}

func rabbitmq() program {
	return program{
		ports: rabbitPorts, stop: syscall.SIGTERM,
		installed: func(Settings) (Installed, error) { return installedRabbit() },
		prepare:   prepareRabbit,
		processes: rabbitProcesses,
		ready: func(ctx context.Context, i *Instance) error {
			connection, err := amqp.DialConfig(i.DSN(""), amqp.Config{Dial: dialWithin(ctx)})
			if err != nil {
				return err
			}
			return connection.Close()
		},
	}
}

// installedRabbit takes the version from the broker's folder, as asking the
// broker means to start it.
func installedRabbit() (Installed, error) {
	if _, err := exec.LookPath("epmd"); err != nil {
		return Installed{}, &MissingError{Kind: RabbitMQ, What: "there is no epmd", Install: aptInstall(debianPackage(RabbitMQ))}
	}
	for _, folder := range rabbitFolders() {
		found, _ := filepath.Glob(filepath.Join(folder, "rabbitmq-server")) // the patterns are ours
		if len(found) == 0 {
			continue
		}
		libraries, _ := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*")
		return Installed{Path: found[0], Version: firstVersion(fmt.Sprint(libraries))}, nil
	}
	return Installed{}, &MissingError{Kind: RabbitMQ, What: "there is no rabbitmq-server", Install: aptInstall(debianPackage(RabbitMQ))}
}

func prepareRabbit(_ context.Context, i *Instance) error {
	for _, folder := range []string{dataFolder, "home", "log"} {
		if err := os.MkdirAll(i.file(folder), 0o700); err != nil {
			return err
		}
	}
	if !i.exists("home/.erlang.cookie") {
		if err := i.write("home/.erlang.cookie", secret()); err != nil {
			return err
		}
		if err := os.Chmod(i.file("home/.erlang.cookie"), 0o400); err != nil {
			return err
		}
	}
	if err := i.write("enabled_plugins", "[]."); err != nil {
		return err
	}
	return i.write("rabbitmq.conf",
		"listeners.tcp.default = "+i.Address(),
		"default_user = "+i.user,
		"default_pass = "+i.password,
		fmt.Sprintf("vm_memory_high_watermark.absolute = %d", 4*i.settings.Memory),
		"disk_free_limit.absolute = 50MB",
		fmt.Sprintf("channel_max = %d", 10*i.settings.Connections),
		"log.file.level = warning",
	)
}

// rabbitEnvironment is that of the broker and of its tools.
func (i *Instance) rabbitEnvironment() []string {
	port := func(n int) string { return strconv.Itoa(i.ports.Numbers[n]) }
	return append(searchPath(),
		"HOME="+i.file("home"),
		"RABBITMQ_NODENAME="+rabbitNode,
		"RABBITMQ_DIST_PORT="+port(distributionPort),
		"ERL_EPMD_PORT="+port(mapperPort), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE="+i.file(dataFolder),
		"RABBITMQ_LOG_BASE="+i.file("log"),
		"RABBITMQ_PID_FILE="+i.file("rabbitmq.pid"),
		"RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_CONFIG_FILE="+i.file("rabbitmq"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+i.file("advanced"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+i.file("enabled_plugins"),
		// Schedulers that spin while they wait would take processor time from the
		// units and count as the broker's cost.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none",
		"RUNNING_UNDER_SYSTEMD=true", // no shell stays between us and the broker
	)
}

func rabbitProcesses(i *Instance) []process {
	return []process{
		{name: "epmd", env: searchPath(), args: []string{
			"epmd", "-port", strconv.Itoa(i.ports.Numbers[mapperPort]), "-address", "127.0.0.1"}},
		{name: "rabbitmq", env: i.rabbitEnvironment(), args: []string{i.path}},
	}
}

// QueueDepth is how many messages a queue of a broker holds.
type QueueDepth struct {
	Ready   int // not handed to a consumer
	Unacked int // handed out and not acknowledged
}

// depthsScript has the broker count. A quorum queue is asked through its log: the
// figures that it publishes are up to five seconds old.
const depthsScript = `[begin
  {resource, _, queue, Name} = amqqueue:get_name(Q),
  Count = fun(Query) -> {ok, Answer, _} = ra:consistent_query(amqqueue:get_pid(Q), Query), Answer end,
  {Ready, Unacked} = case amqqueue:get_type(Q) of
    rabbit_quorum_queue -> {Count(fun rabbit_fifo:query_messages_ready/1), Count(fun rabbit_fifo:query_messages_checked_out/1)};
    _ -> [{_, R}, {_, U}] = rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged]), {R, U}
  end,
  io:format("~s ~b ~b~n", [Name, Ready, Unacked])
end || Q <- rabbit_amqqueue:list()], done.`

// QueueDepths asks the broker itself, which takes a third of a second: AMQP
// clients cannot see what others have not acknowledged. RabbitMQ only.
func (i *Instance) QueueDepths(ctx context.Context) (map[string]QueueDepth, error) {
	if i.Kind != RabbitMQ {
		return nil, fmt.Errorf("depths of all queues: %s has no queues of that kind", i.Kind)
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(i.path), "rabbitmqctl"), "-q", "-n", rabbitNode, "eval", depthsScript)
	command.Env = i.rabbitEnvironment()
	answer, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("depths of all queues: %w", err)
	}
	depths := map[string]QueueDepth{}
	for line := range strings.Lines(string(answer)) {
		var name string
		var depth QueueDepth
		if _, err := fmt.Sscanf(line, "%s %d %d", &name, &depth.Ready, &depth.Unacked); err == nil {
			depths[name] = depth
		} else if strings.TrimSpace(line) != "done" {
			return nil, fmt.Errorf("depths of all queues: what is %q in the broker's answer?", line)
		}
	}
	return depths, nil
}

// dialWithin bounds the connection and its handshake by the context's deadline.
func dialWithin(ctx context.Context) func(network, address string) (net.Conn, error) {
	return func(network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		deadline, ok := ctx.Deadline()
		if !ok {
			deadline = time.Now().Add(attemptWithin)
		}
		return connection, connection.SetDeadline(deadline)
	}
}
