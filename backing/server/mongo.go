package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// secantusVersion is the stand-in's version that the tests ran with.
	secantusVersion = "0.7.0b3"
	secantusProgram = "secantusd-py"
)

// standInFolder is where StandInInstall puts the stand-in for MongoDB.
func standInFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "cleave", "secantusdb")
}

// standInInstall is the command that brings the stand-in.
func standInInstall() string {
	folder := standInFolder()
	return fmt.Sprintf("python3 -m venv %s && %s/bin/pip install secantusdb==%s", folder, folder, secantusVersion)
}

func mongoProgram() program {
	return program{
		ports: 1, stop: syscall.SIGTERM,
		installed: func(Settings) (Installed, error) { return installedMongo() },
		prepare:   prepareMongo,
		processes: func(i *Instance) []process { return []process{mongoProcess(i, true)} },
		ready: func(ctx context.Context, i *Instance) error {
			return withMongo(ctx, i.DSN("admin"), func(client *mongo.Client) error {
				return client.Database("admin").RunCommand(ctx, bson.D{{Key: "usersInfo", Value: 1}}).Err()
			})
		},
	}
}

// installedMongo prefers a mongod. Where there is none it takes SecantusDB, a
// server of its own that speaks MongoDB's protocol on MongoDB's storage engine
// (WiredTiger), and says so. It is a separate process: its licence (GPL-2.0) does
// not touch ours.
func installedMongo() (Installed, error) {
	if found, err := installed(Mongo, "mongod", "--version"); err == nil {
		return found, nil
	}
	path, err := find(Mongo, secantusProgram, filepath.Join(standInFolder(), "bin"))
	if err != nil {
		return Installed{}, &MissingError{Kind: Mongo, Install: standInInstall(),
			What: "there is neither a mongod in PATH (see https://www.mongodb.com/docs/manual/installation/) nor the stand-in SecantusDB"}
	}
	return Installed{Path: path, Version: secantusInstalled(path), StandIn: "SecantusDB"}, nil
}

// secantusInstalled reads the version from the name of the package's folder.
func secantusInstalled(path string) string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "../lib/python*/site-packages/secantusdb-*.dist-info"))
	if len(found) == 0 {
		return "unknown"
	}
	return firstVersion(filepath.Base(found[0]))
}

// prepareMongo makes the user with a server that does not ask for one yet: the
// only way that both programs have. It is the first start of an empty server.
func prepareMongo(ctx context.Context, i *Instance) error {
	if i.exists(dataFolder) {
		return nil
	}
	return i.firstData(func(data string) error {
		if err := os.Mkdir(data, 0o700); err != nil {
			return err
		}
		s, err := i.start(mongoProcess(i, false))
		if err != nil {
			return err
		}
		err = i.createMongoUser(ctx, s)
		s.finish(i.program.stop, stopWithin)
		return err
	})
}

// createMongoUser waits for the server and makes its administrator.
func (i *Instance) createMongoUser(ctx context.Context, s *started) error {
	for {
		err := i.tryOnce(ctx, addMongoUser)
		var refused mongo.CommandError
		if err == nil || errors.As(err, &refused) {
			return err
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%w: %s", s.outcome, lastLines(s.log, 5))
		case <-ctx.Done():
			return fmt.Errorf("create the user: %w: %w", context.Cause(ctx), err)
		case <-time.After(pollEvery):
		}
	}
}

func addMongoUser(ctx context.Context, i *Instance) error {
	return withMongo(ctx, "mongodb://"+i.Address()+"/?directConnection=true", func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{
			{Key: "createUser", Value: i.user}, {Key: "pwd", Value: i.password}, {Key: "roles", Value: bson.A{"root"}},
		}).Err()
	})
}

// mongoProcess is the command of either program; both journal every write that a
// client asks to have journalled.
func mongoProcess(i *Instance, authenticate bool) process {
	data, port := i.file(dataFolder), strconv.Itoa(i.ports.Numbers[0])
	if !authenticate {
		data += ".half" // see firstData
	}
	if i.StandIn == "" {
		gigabytes := fmt.Sprintf("%.2f", max(0.25, float64(i.settings.Memory)/(1<<30)))
		args := []string{i.path, "--dbpath", data, "--bind_ip", "127.0.0.1", "--port", port,
			"--wiredTigerCacheSizeGB", gigabytes, "--nounixsocket"}
		if authenticate {
			args = append(args, "--auth")
		}
		return process{name: "mongo", env: searchPath(), args: args}
	}
	args := []string{i.path, "--host", "127.0.0.1", "--port", port, "--storage-path", data, "--standalone",
		"--sync-on-commit", "--cache-size", fmt.Sprintf("%dM", max(64, i.settings.Memory>>20)), "--log-level", "WARNING"}
	if authenticate {
		args = append(args, "--auth")
	}
	return process{name: "mongo", env: append(searchPath(), "HOME="+i.dir), args: args}
}

// withMongo connects, works and disconnects. The context says how long to wait for
// the server, up to the driver's 30 seconds.
func withMongo(ctx context.Context, uri string, work func(*mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // the answer is in
	return work(client)
}
