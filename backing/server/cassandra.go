package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// cassandraVersion is the version that scripts/need.sh installs.
	cassandraVersion = "5.0.6"
	// cassandraInstall is the command that installs it: about a hundred libraries from Maven Central.
	cassandraInstall = "scripts/need.sh test-all (in the folder of Cleave's sources)"
	// storagePort names the port for connections between nodes.
	storagePort = "storage"
)

// cassandraFolder returns the folder with the libraries.
func cassandraFolder() string { return filepath.Join(cacheFolder(), "cassandra-"+cassandraVersion) }

// installedCassandra finds the libraries and Java 17. Cassandra 5 does not start with later
// versions of Java.
func installedCassandra() (Installed, error) {
	if _, err := os.Stat(filepath.Join(cassandraFolder(),
		"cassandra-all-"+cassandraVersion+".jar")); err != nil {
		return Installed{}, missing(Cassandra, "its libraries are not in "+cassandraFolder(), cassandraInstall)
	}
	for _, pattern := range []string{"/usr/lib/jvm/java-17-openjdk-*/bin/java", "/usr/lib/jvm/*-17-*/bin/java",
		"/usr/lib/jvm/*-17/bin/java"} {
		found, _ := filepath.Glob(pattern) // the patterns are ours
		if len(found) > 0 {
			return Installed{Path: found[0], Version: cassandraVersion}, nil
		}
	}
	return Installed{}, missing(Cassandra, "there is no Java 17 in /usr/lib/jvm",
		lab.AptInstall("openjdk-17-jre-headless"))
}

func describeCassandra(s *Server, unit *lab.UnitSpec) {
	unit.Ports = []string{storagePort}
	unit.Mounts = []string{cassandraFolder()}
	unit.Server.OpensFirst = true
	unit.Files["temporary/"] = nil
	unit.Files["cassandra.yaml"] = s.cassandraConfiguration()
	unit.Files["logback.xml"] = lines(
		`<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">`,
		`<encoder><pattern>%-5level %date{ISO8601} %logger{20} %msg%n</pattern></encoder></appender>`,
		`<root level="WARN"><appender-ref ref="out"/></root></configuration>`,
	)
	unit.Args = append(cassandraModules(),
		fmt.Sprintf("-Xmx%dm", 5*max(s.settings.Memory, 64<<20)>>20), "-Xms64m", "-Xss512k",
		"-XX:MaxDirectMemorySize=128m",
		"-XX:+UseSerialGC", // for a small heap
		"-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData", // would be a file in /tmp
		"-Djava.io.tmpdir={dir}/temporary",
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.security.manager=allow",
		"-Djdk.attach.allowAttachSelf=true",
		"-Dcassandra.config=file://{dir}/cassandra.yaml",
		"-Dlogback.configurationFile=file:{dir}/logback.xml",
		"-Dcassandra.storagedir={dir}/"+dataFolder,
		"-Dcassandra.logdir={dir}/log",
		"-Dcassandra-foreground=yes",
		// A single node need not wait for others. No JMX port is set, so none is opened.
		"-Dcassandra.initial_token=0",
		"-Dcassandra.ring_delay_ms=100",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
		"-Dcassandra.superuser_setup_delay_ms=0",
		// The password has 128 random bits. Slow hashing would add no protection, and would
		// take 100 ms of CPU time per connection.
		"-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
		"-Dcassandra.disable_tcactive_openssl=true",
		"-cp", cassandraFolder()+"/*", "org.apache.cassandra.service.CassandraDaemon",
	)
}

// cassandraConfiguration returns the file cassandra.yaml. Clients connect to the unit's address. The node
// is the only one of its cluster, so its address for other nodes is on loopback.
func (s *Server) cassandraConfiguration() []byte {
	sync := []string{"commitlog_sync: batch"} // a write is on the disk before it is acknowledged
	if s.settings.Periodic {
		sync = []string{"commitlog_sync: periodic", "commitlog_sync_period: 10000ms"}
	}
	return lines(append(sync,
		"cluster_name: cleave",
		"num_tokens: 1",
		"partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
		"endpoint_snitch: SimpleSnitch",
		"seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "+
			"'127.0.0.1:{port:"+storagePort+"}'}]}]",
		"listen_address: 127.0.0.1",
		"storage_port: {port:"+storagePort+"}",
		"rpc_address: {host}",
		"broadcast_rpc_address: 127.0.0.1", // unused: clients use only the address that they are given
		"native_transport_port: {port}",
		fmt.Sprintf("native_transport_max_concurrent_connections: %d", s.settings.Connections),
		"auto_bootstrap: false",
		"authenticator: PasswordAuthenticator",
		"data_file_directories: ['{dir}/"+dataFolder+"/data']",
		"commitlog_directory: '{dir}/"+dataFolder+"/commitlog'",
		"saved_caches_directory: '{dir}/"+dataFolder+"/saved_caches'",
		"hints_directory: '{dir}/"+dataFolder+"/hints'",
		"cdc_raw_directory: '{dir}/"+dataFolder+"/cdc_raw'",
		"disk_failure_policy: die",
		"commit_failure_policy: die",
		"auto_snapshot: false",
		// A disk that others use, too, may take seconds. By default Cassandra reports a write
		// as failed after two seconds, though it carries it out later. Other servers wait.
		"read_request_timeout: 8000ms",
		"write_request_timeout: 8000ms",
		// Size.
		"commitlog_segment_size: 8MiB",
		"commitlog_total_space: 64MiB",
		fmt.Sprintf("memtable_heap_space: %dMiB", max(s.settings.Memory>>20, 64)),
		"memtable_offheap_space: 64MiB",
		"file_cache_size: 64MiB",
		"networking_cache_size: 32MiB",
		"key_cache_size: 8MiB",
		"counter_cache_size: 4MiB",
		"concurrent_compactors: 1",
	)...)
}

// cassandraModules returns the options that give Cassandra access to internal packages of Java. Its own
// scripts use the same.
func cassandraModules() []string {
	var args []string
	for _, exported := range []string{
		"java.base/java.lang.ref", "java.base/jdk.internal.misc", "java.management/com.sun.jmx.remote.security",
		"java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "java.rmi/sun.rmi.transport.tcp",
		"java.sql/java.sql", "jdk.unsupported/sun.misc",
	} {
		args = append(args, "--add-exports="+exported+"=ALL-UNNAMED")
	}
	for _, opened := range []string{
		"java.base/java.io", "java.base/java.lang", "java.base/java.lang.module", "java.base/java.lang.reflect",
		"java.base/java.nio",
		"java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic",
		"java.base/jdk.internal.loader", "java.base/jdk.internal.math", "java.base/jdk.internal.module",
		"java.base/jdk.internal.ref",
		"java.base/jdk.internal.reflect", "java.base/jdk.internal.util.jar", "java.base/sun.nio.ch",
		"java.rmi/sun.rmi.transport.tcp", "jdk.management/com.sun.management.internal",
	} {
		args = append(args, "--add-opens="+opened+"=ALL-UNNAMED")
	}
	return args
}

// cassandraReady returns nil once the server accepts its user. It logs in as the role cassandra, which
// every new server has, creates the user and then drops that role. MongoDB gets its user in a start of its
// own, which would take another five seconds here.
func cassandraReady(ctx context.Context, s *Server, address string) error {
	err := withCassandra(ctx, address, s.user, s.password, "DROP ROLE IF EXISTS cassandra")
	if err == nil {
		return nil
	}
	createErr := withCassandra(ctx, address, "cassandra", "cassandra", fmt.Sprintf(
		"CREATE ROLE IF NOT EXISTS %s WITH PASSWORD = '%s' AND SUPERUSER = true AND LOGIN = true", s.user,
		s.password))
	if createErr != nil {
		return errors.Join(err, createErr)
	}
	return withCassandra(ctx, address, s.user, s.password, "DROP ROLE IF EXISTS cassandra")
}

// withCassandra connects, executes a statement and disconnects.
func withCassandra(ctx context.Context, address, user, password, statement string) error {
	cluster := gocql.NewCluster(address)
	cluster.NumConns = 1
	cluster.DisableInitialHostLookup = true
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: user, Password: password}
	cluster.Timeout = attemptWithin
	cluster.ConnectTimeout = attemptWithin
	if deadline, ok := ctx.Deadline(); ok {
		cluster.ConnectTimeout = min(attemptWithin, time.Until(deadline))
	}
	session, err := cluster.CreateSession()
	if err != nil {
		return err
	}
	defer func() { go session.Close() }() // in gocql 2.1.2 it may never return; see backing/wide
	return session.Query(statement).ExecContext(ctx)
}
