package document

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// mongoStore stores a document as {_id, version, body}.
type mongoStore struct {
	client   *mongo.Client
	database *mongo.Database
}

// selectWithin is the time that a call waits for an available server, and that Close waits for the
// connections to end.
const selectWithin = 10 * time.Second

// record is the stored form of a document.
type record struct {
	ID      string `bson:"_id"`
	Version int64  `bson:"version"`
	Body    bson.D `bson:"body"`
}

func openMongo(ctx context.Context, address *url.URL, database string) (driver, error) {
	address.Path = "/" + database
	// Without authSource, MongoDB looks for the user in the database of the path, which is new.
	if address.User != nil && looksInPath(address.Query()) {
		address.RawQuery = strings.TrimPrefix(address.RawQuery+"&authSource=admin", "&")
	}
	journalled := true // a write is on the disk before it is acknowledged
	settings := options.Client().ApplyURI(address.String()).SetMaxPoolSize(connections).
		SetServerSelectionTimeout(selectWithin).
		SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journalled})
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, err
	}
	store := &mongoStore{client: client, database: client.Database(database)}
	// Connect does not wait for the server: this command checks that it answers and knows the user.
	if err := store.database.RunCommand(ctx, bson.D{{Key: "listCollections", Value: 1},
		{Key: "nameOnly", Value: true}}).Err(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// looksInPath reports whether MongoDB looks for the user in the database that the path of an address names.
// It does so without authSource, for the mechanisms whose passwords it stores itself. Names of options may
// have any case.
func looksInPath(options url.Values) bool {
	mechanism := ""
	for name, values := range options {
		switch strings.ToLower(name) {
		case "authsource":
			return false
		case "authmechanism":
			mechanism = strings.ToUpper(values[0])
		}
	}
	return mechanism == "" || strings.HasPrefix(mechanism, "SCRAM-")
}

func (s *mongoStore) declare(ctx context.Context, c Collection) error {
	for _, field := range c.Indexed {
		_, err := s.database.Collection(c.Name).Indexes().CreateOne(ctx, mongo.IndexModel{
			Keys: bson.D{{Key: "body." + field, Value: 1}, {Key: "_id", Value: 1}},
		})
		if err != nil {
			return fmt.Errorf("index over %s: %w", field, err)
		}
	}
	return nil
}

// firstVersion is the version of documents that most likely do not exist yet.
const firstVersion = 1

// upsert writes each document separately. It inserts a document of the first version, which costs a fraction
// of an update. For any other version it updates an older version, or inserts the document if there is none.
// MongoDB refuses an insert as a duplicate if the document exists. The existing version may be older, for
// example if another client has inserted it at the same moment. So upsert finally updates all refused
// documents.
func (s *mongoStore) upsert(ctx context.Context, collection string, documents []Document) (int, error) {
	models := make([]mongo.WriteModel, len(documents))
	retries := make([]mongo.WriteModel, len(documents))
	for n, d := range documents {
		body, err := toBSON(d.Body)
		if err != nil {
			return 0, fmt.Errorf("document %q: %w", d.ID, err)
		}
		update := func() *mongo.UpdateOneModel {
			return mongo.NewUpdateOneModel().
				SetFilter(bson.D{{Key: "_id", Value: d.ID}, {Key: "version",
					Value: bson.D{{Key: "$lt", Value: d.Version}}}}).
				SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: d.Version},
					{Key: "body", Value: body}}}})
		}
		models[n] = update().SetUpsert(true)
		retries[n] = update()
		if d.Version == firstVersion {
			models[n] = mongo.NewInsertOneModel().SetDocument(record{ID: d.ID, Version: d.Version, Body: body})
		}
	}
	applied, refused, err := s.write(ctx, collection, models)
	if err == nil && len(refused) > 0 {
		for i, n := range refused { // in place: refused is sorted, so that i <= n
			retries[i] = retries[n]
		}
		var retried int
		retried, _, err = s.write(ctx, collection, retries[:len(refused)])
		applied += retried
	}
	return applied, err
}

// write sends models as one unordered batch. It returns the number of models that changed a document,
// and the indexes of the models that were refused as duplicates.
func (s *mongoStore) write(
	ctx context.Context, collection string, models []mongo.WriteModel,
) (applied int, refused []int, err error) {
	if len(models) == 0 {
		return 0, nil, nil
	}
	result, err := s.database.Collection(collection).BulkWrite(ctx, models,
		options.BulkWrite().SetOrdered(false))
	if result != nil {
		applied = int(result.InsertedCount + result.ModifiedCount + result.UpsertedCount)
	}
	var failures mongo.BulkWriteException
	if !errors.As(err, &failures) {
		return applied, nil, err
	}
	if failures.WriteConcernError != nil { // the writes may not be on the disk
		return applied, nil, err
	}
	for _, failure := range failures.WriteErrors {
		if !mongo.IsDuplicateKeyError(failure.WriteError) {
			return applied, nil, err
		}
		refused = append(refused, failure.Index)
	}
	slices.Sort(refused)
	return applied, refused, nil
}

func (s *mongoStore) get(ctx context.Context, collection, id string) (Document, error) {
	var r record
	err := s.database.Collection(collection).FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&r)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = ErrNotFound
	}
	if err != nil {
		return Document{}, err
	}
	return r.document()
}

func (s *mongoStore) getMany(ctx context.Context, collection string, ids []string) ([]Document, error) {
	return s.page(ctx, collection, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, options.Find())
}

func (s *mongoStore) find(ctx context.Context, collection string, query Query) ([]Document, error) {
	order, beyond := 1, "$gt"
	if query.Descending {
		order, beyond = -1, "$lt"
	}
	filter := bson.D{}
	sort := bson.D{{Key: "_id", Value: order}}
	if query.Field != "" {
		// This is the order of the whole index, so the server need not sort.
		filter = append(filter, bson.E{Key: "body." + query.Field, Value: query.Value})
		sort = bson.D{{Key: "body." + query.Field, Value: order}, {Key: "_id", Value: order}}
	}
	if query.After != "" {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: beyond, Value: query.After}}})
	}
	found := options.Find().SetSort(sort).SetLimit(int64(query.Limit))
	return s.page(ctx, collection, filter, found)
}

// page returns the documents that a filter selects.
func (s *mongoStore) page(
	ctx context.Context, collection string, filter bson.D, findOptions *options.FindOptionsBuilder,
) ([]Document, error) {
	cursor, err := s.database.Collection(collection).Find(ctx, filter, findOptions)
	if err != nil {
		return nil, err
	}
	var records []record
	if err := cursor.All(ctx, &records); err != nil {
		return nil, err
	}
	page := make([]Document, len(records))
	for n, r := range records {
		if page[n], err = r.document(); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// Close implements driver.
func (s *mongoStore) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), selectWithin)
	defer cancel()
	return s.client.Disconnect(ctx)
}

// document returns the document of a record.
func (r record) document() (Document, error) {
	body, err := json.Marshal(r.Body)
	if err != nil {
		return Document{}, fmt.Errorf("document %q: %w", r.ID, err)
	}
	return Document{ID: r.ID, Version: r.Version, Body: body}, nil
}
