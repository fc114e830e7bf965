import {
  MongoClient,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type Collection,
  type Db,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import { hashPassword } from '../domain/customers.js';
import { airports, customers, departures, type DatasetSize } from '../domain/dataset.js';
import type { Booking, Contact, Customer, Flight, Session } from '../domain/model.js';
import type { Part, Store } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';

/** The number of documents that are loaded with one call. */
const loadedAtOnce = 1000;
/** The server's error code for a key that a unique index has already. */
const duplicateKey = 11_000;

type CustomerDocument = Omit<Customer, 'login'> & { _id: string; password: string };

interface SessionDocument {
  _id: string;
  login: string;
  expires: Date;
}

/** Its day is YYYYMMDD. */
type FlightDocument = Omit<Flight, 'id' | 'departs'> & { _id: string; day: string; departs: Date };

/**
 * What was booked together. It is one document, since a server alone writes that as a whole or not at all;
 * an index refuses a second one with the same customer and flight.
 */
interface OrderDocument {
  _id: string;
  login: string;
  booked: string;
  seats: { id: string; flight: string }[];
}

/** A document with a name only: that of an airport, or of a collection that is completely loaded. */
interface NameDocument {
  _id: string;
}

/** The store on a server of MongoDB's protocol that all units share. Go and Java store the same documents. */
export class MongoStore implements Store {
  private readonly client: MongoClient;
  private readonly db: Db;
  private readonly customers: Collection<CustomerDocument>;
  private readonly sessions: Collection<SessionDocument>;
  private readonly airports: Collection<NameDocument>;
  private readonly flights: Collection<FlightDocument>;
  private readonly orders: Collection<OrderDocument>;

  /**
   * The URL may have secrets: no error repeats it. patience limits the wait for a server that does not
   * answer, in milliseconds.
   */
  constructor(url: string, patience: number) {
    const limits = {
      serverSelectionTimeoutMS: patience,
      connectTimeoutMS: patience,
      socketTimeoutMS: patience,
    };
    try {
      this.client = new MongoClient(url, limits);
    } catch {
      throw new Error('the URL of the database is none that its driver can use');
    }
    this.db = this.client.db('airline');
    this.customers = this.db.collection('customers');
    this.sessions = this.db.collection('sessions');
    this.airports = this.db.collection('airports');
    this.flights = this.db.collection('flights');
    this.orders = this.db.collection('orders');
  }

  async load(part: Part, size: DatasetSize): Promise<void> {
    await this.flights.createIndex({ from: 1, to: 1, day: 1 });
    await this.sessions.createIndex({ expires: 1 }, { expireAfterSeconds: 0 }, {}); // the server sweeps them
    await this.orders.createIndex({ login: 1, 'seats.flight': 1 }, { unique: true }, {});
    await this.orders.createIndex({ 'seats.id': 1 });
    if (part.customers) {
      await this.loadOnce(this.customers, customerDocuments(size));
    }
    if (part.flights) {
      await this.loadOnce(
        this.airports,
        airports(size).map((code) => ({ _id: code })),
      );
      await this.loadOnce(this.flights, flightDocuments(size));
    }
  }

  /** Loads a collection, unless it is completely loaded already. */
  private async loadOnce<T extends NameDocument>(
    collection: Collection<T>,
    documents: Iterable<OptionalUnlessRequiredId<T>>,
  ): Promise<void> {
    const loaded = this.db.collection<NameDocument>('loaded');
    const mark = { _id: collection.collectionName };
    if ((await loaded.findOne(mark)) !== null) {
      return;
    }
    await collection.deleteMany({});
    let batch: OptionalUnlessRequiredId<T>[] = [];
    for (const document of documents) {
      batch.push(document);
      if (batch.length === loadedAtOnce) {
        await collection.insertMany(batch);
        batch = [];
      }
    }
    if (batch.length > 0) {
      await collection.insertMany(batch);
    }
    await loaded.insertOne(mark);
  }

  async session(token: string): Promise<Session | undefined> {
    const found = await answered(this.sessions.findOne({ _id: token }));
    return found === null ? undefined : { login: found.login, expires: found.expires.toISOString() };
  }

  async putSession(token: string, { login, expires }: Session): Promise<void> {
    await answered(this.sessions.insertOne({ _id: token, login, expires: new Date(expires) }));
  }

  async removeSession(token: string): Promise<void> {
    await answered(this.sessions.deleteOne({ _id: token }));
  }

  async customer(login: string): Promise<Customer | undefined> {
    return customerOf(await answered(this.customers.findOne({ _id: login })));
  }

  async passwordHash(login: string): Promise<string | undefined> {
    return (await answered(this.customers.findOne({ _id: login })))?.password;
  }

  async updateCustomer(login: string, { phone, address }: Contact): Promise<Customer | undefined> {
    const change = { $set: { phone, address } };
    return customerOf(
      await answered(this.customers.findOneAndUpdate({ _id: login }, change, { returnDocument: 'after' })),
    );
  }

  async hasAirport(code: string): Promise<boolean> {
    return (await answered(this.airports.findOne({ _id: code }))) !== null;
  }

  async flight(id: string): Promise<Flight | undefined> {
    const found = await answered(this.flights.findOne({ _id: id }));
    return found === null ? undefined : flightOf(found);
  }

  async departures(from: string, to: string, date: string): Promise<Flight[]> {
    const day = date.replaceAll('-', '');
    const found = await answered(this.flights.find({ from, to, day }).toArray());
    // Ids that are longer have higher numbers.
    const inOrder = (a: FlightDocument, b: FlightDocument) =>
      a._id.length - b._id.length || (a._id < b._id ? -1 : 1);
    return found.sort(inOrder).map(flightOf);
  }

  /** If there are two flights, the server does not say which of them the customer has. */
  async addBookings(bookings: Booking[]): Promise<string | undefined> {
    const [first] = bookings;
    if (first === undefined) {
      return undefined;
    }
    const { id, login, booked } = first;
    const seats = bookings.map((booking) => ({ id: booking.id, flight: booking.flight }));
    try {
      await answered(this.orders.insertOne({ _id: id, login, booked, seats }));
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey) {
        return seats.map(({ flight }) => flight).join(' or ');
      }
      throw error;
    }
    return undefined;
  }

  async booking(id: string): Promise<Booking | undefined> {
    const order = await answered(this.orders.findOne({ 'seats.id': id }));
    return order === null ? undefined : bookingsIn(order).find((booking) => booking.id === id);
  }

  /**
   * The last seat of an order goes with it: to the unique index, two orders without seats would be the same.
   */
  async removeBooking({ id }: Booking): Promise<boolean> {
    const notTheLast = { 'seats.id': id, 'seats.1': { $exists: true } };
    const { modifiedCount } = await answered(this.orders.updateOne(notTheLast, { $pull: { seats: { id } } }));
    if (modifiedCount > 0) {
      return true;
    }
    const { deletedCount } = await answered(this.orders.deleteOne({ 'seats.id': id }));
    return deletedCount > 0;
  }

  async bookingsOf(login: string): Promise<Booking[]> {
    const orders = await answered(this.orders.find({ login }).toArray());
    return orders.flatMap(bookingsIn);
  }

  async *allBookings(): AsyncGenerator<Booking> {
    for await (const order of this.orders.find()) {
      yield* bookingsIn(order);
    }
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** Returns the server's answer, or throws the problem unavailable if it does not answer. */
async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) {
      throw new Problem('unavailable', 'the database of the airline does not answer');
    }
    throw error;
  }
}

function* customerDocuments(size: DatasetSize): Generator<CustomerDocument> {
  for (const { customer, password } of customers(size)) {
    const { login, ...others } = customer;
    yield { _id: login, ...others, password: hashPassword(login, password) };
  }
}

function customerOf(document: CustomerDocument | null): Customer | undefined {
  if (document === null) {
    return undefined;
  }
  const { _id: login, firstName, lastName, phone, miles, address } = document;
  return { login, firstName, lastName, phone, miles, address };
}

function* flightDocuments(size: DatasetSize): Generator<FlightDocument> {
  for (const { date, flights } of departures(size)) {
    for (const { id, departs, ...others } of flights) {
      yield { _id: id, ...others, day: date.replaceAll('-', ''), departs: new Date(departs) };
    }
  }
}

function flightOf({ _id: id, from, to, departs, minutes, price }: FlightDocument): Flight {
  return { id, from, to, departs: departs.toISOString().replace('.000Z', 'Z'), minutes, price };
}

function bookingsIn({ login, booked, seats }: OrderDocument): Booking[] {
  return seats.map(({ id, flight }) => ({ id, login, flight, booked }));
}
