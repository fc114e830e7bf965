package profiler

import (
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// The runtimes, as reports name them.
const (
	runtimeJava = "java"
	runtimeNode = "node"
	runtimeGo   = "go"
)

// rule assigns a layer to all packages whose names begin with one of its prefixes. If a prefix ends with
// a letter, the next character of the name must not be a letter: "pg" fits pg-pool, but not pgp.
type rule struct {
	layer    lab.Layer
	prefixes []string
}

// layerOf returns the layer of the first rule that fits a name; known is false if none does. The prefixes
// of the application's own code, own, precede all rules.
func layerOf(name string, own []string, rules []rule) (layer lab.Layer, known bool) {
	for _, r := range append([]rule{{lab.LayerApplication, own}}, rules...) {
		for _, prefix := range r.prefixes {
			rest, fits := strings.CutPrefix(name, prefix)
			isWithinWord := rest != "" && isLetter(rest[0]) && isLetter(prefix[len(prefix)-1])
			if fits && !isWithinWord {
				return r.layer, true
			}
		}
	}
	return "", false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// unruledLayer returns the layer of a Java class that no rule fits. It is a library if the prefixes of the
// application's own code are known; otherwise it may be the application.
func unruledLayer(own []string) lab.Layer {
	if len(own) > 0 {
		return lab.LayerLibraries
	}
	return lab.LayerApplication
}

// javaRules returns the rules for names of classes.
func javaRules() []rule {
	return []rule{
		{lab.LayerJSON, []string{"com.fasterxml.jackson.", "tools.jackson.", "com.google.gson.", "org.json.",
			"jakarta.json", "javax.json", "org.eclipse.yasson.",
			"org.eclipse.parsson.", "org.glassfish.json.", "com.alibaba.fastjson", "com.google.protobuf."}},
		{lab.LayerStore, []string{"com.mongodb.", "org.bson.", "org.h2.", "java.sql.", "javax.sql.",
			"com.zaxxer.hikari.", "org.postgresql.", "com.mysql.",
			"org.mariadb.", "org.hibernate.", "jakarta.persistence.", "redis.clients.", "io.lettuce.", "com.datastax.",
			"org.apache.cassandra.", "org.sqlite.", "org.rocksdb."}},
		{lab.LayerHTTP, []string{"org.eclipse.jetty.http", "jdk.internal.net.http.", "java.net.http.",
			"sun.net.www.", "io.netty.handler.codec.http", "org.apache.http.",
			"org.apache.hc.", "okhttp3.", "org.apache.coyote.", "com.sun.net.httpserver.", "sun.net.httpserver.",
			"io.grpc."}},
		{lab.LayerServer, []string{"org.eclipse.jetty.", "org.glassfish.", "jakarta.", "javax.servlet.",
			"javax.ws.", "org.springframework.", "io.netty.", "org.apache.catalina.",
			"org.apache.tomcat.", "io.undertow.", "io.quarkus.", "io.vertx.", "io.micronaut.", "io.helidon.",
			"com.ibm.ws", "io.openliberty.", "org.jboss.", "org.jvnet.hk2."}},
		{lab.LayerRuntime, []string{"java.", "javax.", "jdk.", "sun.", "com.sun."}},
	}
}

// nodeRules returns the rules for names of packages in node_modules, and of modules of Node.js.
func nodeRules() []rule {
	return []rule{
		{lab.LayerJSON, []string{"fast-json-stringify", "secure-json-parse", "fast-json", "json-", "bourne",
			"protobufjs", "google-protobuf"}},
		{lab.LayerStore, []string{"lmdb", "msgpackr", "ordered-binary", "weak-lru-cache", "mongodb", "mongoose",
			"bson", "pg", "mysql", "mariadb", "sqlite3", "better-sqlite3",
			"redis", "ioredis", "cassandra-driver", "level", "knex", "sequelize", "typeorm", "@prisma/"}},
		{lab.LayerHTTP, []string{"undici", "llhttp", "axios", "got", "node-fetch", "follow-redirects", "@grpc/",
			"node:_http", "node:http", "node:internal/http", "node:internal/deps/undici"}},
		{lab.LayerServer, []string{"fastify", "@fastify/", "find-my-way", "avvio", "light-my-request", "ajv",
			"@hapi/", "express", "router", "body-parser", "finalhandler", "send",
			"koa", "@koa/", "hono", "@hono/", "@nestjs/", "restify", "path-to-regexp", "qs"}},
		{lab.LayerRuntime, []string{"node:"}},
	}
}

// goRules returns the rules for import paths of packages.
func goRules() []rule {
	return []rule{
		{lab.LayerApplication, []string{"main."}},
		{lab.LayerJSON, []string{"encoding/json", "github.com/goccy/go-json", "github.com/json-iterator/",
			"github.com/mailru/easyjson", "github.com/go-json-experiment/",
			"github.com/tidwall/", "google.golang.org/protobuf", "github.com/bytedance/sonic"}},
		{lab.LayerStore, []string{"database/sql", "go.etcd.io/bbolt", "go.mongodb.org/", "modernc.org/",
			"github.com/jackc/", "github.com/go-sql-driver/", "github.com/lib/pq",
			"github.com/mattn/go-sqlite3", "github.com/redis/", "github.com/gomodule/redigo",
			"github.com/apache/cassandra-gocql-driver/", "github.com/gocql/", "gorm.io/", "github.com/dgraph-io/"}},
		{lab.LayerHTTP, []string{"net/http", "net/textproto", "golang.org/x/net/http", "golang.org/x/net/httpguts",
			"vendor/golang.org/x/net/", "google.golang.org/grpc", "github.com/valyala/fasthttp"}},
		{lab.LayerServer, []string{"github.com/gin-gonic/", "github.com/labstack/echo", "github.com/go-chi/",
			"github.com/gorilla/", "github.com/gofiber/"}},
	}
}
