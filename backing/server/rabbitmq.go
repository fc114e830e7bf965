package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"path/filepath"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/cleave-lab/cleave/lab"
)

// distributionPort and mapperPort name the ports on which RabbitMQ listens besides that for clients: for the
// Erlang distribution, and for the port mapper (epmd). Every broker starts its own port mapper: one for the
// whole host would listen on all addresses and outlive the broker.
const distributionPort, mapperPort = "distribution", "mapper"

// RabbitNode is the name of the broker's Erlang node. There is no other node.
const RabbitNode = "cleave@localhost"

// installedRabbit takes the version from the name of the broker's folder, because only
// a running broker tells its version. It is "unknown" if the folder is not that of a distribution.
func installedRabbit() (Installed, error) {
	if _, err := find(RabbitMQ, "epmd"); err != nil {
		return Installed{}, err
	}
	// These are the folders of the broker's own scripts in distributions. The wrappers in PATH change the user
	// and write to /var.
	for _, folder := range []string{"/usr/lib/rabbitmq/bin", "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin",
		"/opt/rabbitmq/sbin"} {
		found, _ := filepath.Glob(filepath.Join(folder, "rabbitmq-server")) // the patterns are ours
		if len(found) == 0 {
			continue
		}
		libraries, _ := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*")
		return Installed{Path: found[0], Version: cmp.Or(firstVersion(fmt.Sprint(libraries)), "unknown")}, nil
	}
	return Installed{}, missing(RabbitMQ, "there is no rabbitmq-server", lab.AptInstall(debianPackage(RabbitMQ)))
}

func describeRabbit(s *Server, unit *lab.UnitSpec) {
	unit.Ports = []string{distributionPort, mapperPort}
	for _, folder := range []string{dataFolder, "log"} {
		unit.Files[folder+"/"] = nil
	}
	unit.Files["home/.erlang.cookie"] = []byte(rand.Text())
	unit.Files["enabled_plugins"] = lines("[].")
	unit.Files["rabbitmq.conf"] = lines(
		"listeners.tcp.default = {host}:{port}",
		"default_user = "+s.user,
		"default_pass = "+s.password,
		fmt.Sprintf("vm_memory_high_watermark.absolute = %d", 4*s.settings.Memory),
		"disk_free_limit.absolute = 50MB",
		fmt.Sprintf("channel_max = %d", 10*s.settings.Connections),
		"log.file = false",
		"log.console = true",
		"log.console.level = warning",
	)
	unit.Env = append(unit.Env,
		"HOME={dir}/home",
		"RABBITMQ_NODENAME="+RabbitNode,
		"RABBITMQ_DIST_PORT={port:"+distributionPort+"}",
		"ERL_EPMD_PORT={port:"+mapperPort+"}", "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE={dir}/"+dataFolder,
		"RABBITMQ_LOG_BASE={dir}/log",
		"RABBITMQ_PID_FILE={dir}/rabbitmq.pid",
		"RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_CONFIG_FILE={dir}/rabbitmq",
		"RABBITMQ_ADVANCED_CONFIG_FILE={dir}/advanced",
		"RABBITMQ_ENABLED_PLUGINS_FILE={dir}/enabled_plugins",
		// Schedulers do not spin while they wait. That would take processor time from
		// the units, and count as a cost of the broker.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu "+
			"none +sbwtdio none",
		"RUNNING_UNDER_SYSTEMD=true", // no shell stays between the deployer and the broker
	)
}

func rabbitReady(ctx context.Context, s *Server, address string) error {
	connection, err := amqp.DialConfig(s.URL(address), amqp.Config{Dial: dialWithin(ctx)})
	if err != nil {
		return err
	}
	return connection.Close()
}

// dialWithin returns a dial function whose connections have the deadline of the context, also for the
// handshake.
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
