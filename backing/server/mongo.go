package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// secantusVersion is the version of the stand-in that standInInstall installs. The tests use it.
	secantusVersion = "0.7.0b3"
	secantusProgram = "secantusd-py"
)

// standInFolder returns the folder of the stand-in for MongoDB.
func standInFolder() string { return filepath.Join(cacheFolder(), "secantusdb-"+secantusVersion) }

// standInInstall returns the command that installs the stand-in.
func standInInstall() string {
	folder := standInFolder()
	return fmt.Sprintf("%s && python3 -m venv %s && %s/bin/pip install secantusdb==%s",
		lab.AptInstall("python3-venv"), folder, folder, secantusVersion)
}

// installedMongo returns the installed mongod. If there is none, it returns SecantusDB, another
// server for MongoDB's protocol on MongoDB's storage engine (WiredTiger), with StandIn set. It
// runs as a separate process, so that its licence (GPL-2.0) does not affect ours.
func installedMongo() (Installed, error) {
	found, err := installed(Mongo, "mongod", "--version")
	if err == nil {
		return found, nil
	}
	if _, is := errors.AsType[*lab.MissingError](err); !is {
		return found, fmt.Errorf("%w: repair this mongod, or take it out of PATH to have the stand-in "+
			"SecantusDB", err)
	}
	path, err := find(Mongo, secantusProgram, filepath.Join(standInFolder(), "bin"))
	if err != nil {
		return Installed{}, missing(Mongo, "there is neither a mongod in PATH (see "+
			"https://www.mongodb.com/docs/manual/installation/) nor the stand-in SecantusDB", standInInstall())
	}
	return Installed{Path: path, Version: secantusInstalled(path), StandIn: "SecantusDB"}, nil
}

// secantusInstalled reads the version from the name of the package's folder.
func secantusInstalled(path string) string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path),
		"../lib/python*/site-packages/secantusdb-*.dist-info"))
	if len(found) == 0 {
		return "unknown"
	}
	return firstVersion(filepath.Base(found[0]))
}

// describeMongo fills in the unit of mongod or its stand-in. Its setup runs the program without
// authentication and creates the user, because both programs support this way. The stand-in
// also needs the folders of its Python.
func describeMongo(s *Server, unit *lab.UnitSpec) {
	unit.Files[dataFolder+"/"] = nil
	arguments := s.mongoArguments()
	unit.Server.Setup = []lab.ServerSetup{{Program: s.Path, Args: arguments, Visit: s.addMongoUser}}
	unit.Server.OpensFirst = true
	unit.Args = append(arguments, "--auth")
	if s.StandIn != "" {
		unit.Mounts = pythonFolders(filepath.Dir(filepath.Dir(s.Path)))
	}
}

// pythonFolders returns the folder of a virtual environment and, unless its Python is that of
// the distribution, the folder of the Python installation.
func pythonFolders(environment string) []string {
	python, err := filepath.EvalSymlinks(filepath.Join(environment, "bin", "python3"))
	if err != nil || strings.HasPrefix(python, "/usr/") {
		return []string{environment} // if there is no Python, the start fails with a message
	}
	return []string{environment, filepath.Dir(filepath.Dir(python))}
}

// mongoArguments returns the arguments of mongod or its stand-in. Both write to the journal before they
// acknowledge, if a client asks for that.
func (s *Server) mongoArguments() []string {
	if s.StandIn == "" {
		gigabytes := max(0.25, float64(s.settings.Memory)/(1<<30))
		return []string{"--dbpath", "{dir}/" + dataFolder, "--bind_ip", "{host}", "--port", "{port}",
			"--wiredTigerCacheSizeGB", fmt.Sprintf("%.2f", gigabytes), "--nounixsocket"}
	}
	return []string{"--host", "{host}", "--port", "{port}", "--storage-path", "{dir}/" + dataFolder,
		"--standalone",
		"--sync-on-commit", "--cache-size", fmt.Sprintf("%dM", max(64, s.settings.Memory>>20)), "--log-level",
		"WARNING"}
}

func (s *Server) addMongoUser(ctx context.Context, address string) error {
	err := withMongo(ctx, "mongodb://"+address+"/?directConnection=true", func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{
			{Key: "createUser", Value: s.user}, {Key: "pwd", Value: s.password}, {Key: "roles", Value: bson.A{"root"}},
		}).Err()
	})
	if refused := (mongo.CommandError{}); errors.As(err, &refused) && refused.Code == userExists {
		return nil // an earlier visit has created it, but its answer was lost
	}
	return err
}

// userExists is the code of the error that the user exists already.
const userExists = 51003

func mongoReady(ctx context.Context, s *Server, address string) error {
	return withMongo(ctx, s.URL(address), func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: "usersInfo", Value: 1}}).Err()
	})
}

// withMongo calls work with a connected client. It waits for the server until the
// context ends, but not longer than the driver's 30 seconds.
func withMongo(ctx context.Context, uri string, work func(*mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // an error does not matter any more
	return work(client)
}
