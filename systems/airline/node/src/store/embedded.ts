import { open, type Database, type RootDatabase } from 'lmdb';
import { mkdirSync } from 'node:fs';
import { hashPassword } from '../domain/customers.js';
import { airports, customers, departures, type DatasetSize } from '../domain/dataset.js';
import type { Booking, Contact, Customer, Flight, Session } from '../domain/model.js';
import type { Part, Store } from '../domain/ports.js';

/** The most expired sessions that a new one removes: more than one, so that they do not pile up. */
const sweptAtOnce = 4;

/**
 * The store in this process: LMDB, which several processes may have open at the same time. A write is
 * acknowledged when it is committed to the page cache of the system, so that it survives the process but
 * not a power loss.
 */
export class EmbeddedStore implements Store {
  private readonly root: RootDatabase;
  private readonly customers: Database<Customer, string>;
  private readonly passwords: Database<string, string>;
  private readonly sessions: Database<Session, string>;
  /** The times at which sessions expire and their tokens, in this order. */
  private readonly expiries: Database<true, [string, string]>;
  private readonly airports: Database<true, string>;
  private readonly flights: Database<Flight, string>;
  /** Ids of flights by segment and day. */
  private readonly schedule: Database<string[], [string, string, string]>;
  private readonly bookings: Database<Booking, string>;
  /** Ids of bookings by customer and flight: what makes a flight bookable once. */
  private readonly booked: Database<string, [string, string]>;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.root = open({ path: `${folder}/airline.mdb`, noSync: true });
    this.customers = this.root.openDB({ name: 'customers' });
    this.passwords = this.root.openDB({ name: 'passwords' });
    this.sessions = this.root.openDB({ name: 'sessions' });
    this.expiries = this.root.openDB({ name: 'expiries' });
    this.airports = this.root.openDB({ name: 'airports' });
    this.flights = this.root.openDB({ name: 'flights' });
    this.schedule = this.root.openDB({ name: 'schedule' });
    this.bookings = this.root.openDB({ name: 'bookings' });
    this.booked = this.root.openDB({ name: 'booked' });
  }

  /** Loads all of the missing data or none. */
  load(part: Part, size: DatasetSize): Promise<void> {
    this.root.transactionSync(() => {
      if (part.customers && this.root.get('customers-loaded') === undefined) {
        this.loadCustomers(size);
        this.root.putSync('customers-loaded', true);
      }
      if (part.flights && this.root.get('flights-loaded') === undefined) {
        this.loadFlights(size);
        this.root.putSync('flights-loaded', true);
      }
    });
    return Promise.resolve();
  }

  private loadCustomers(size: DatasetSize): void {
    for (const { customer, password } of customers(size)) {
      this.customers.putSync(customer.login, customer);
      this.passwords.putSync(customer.login, hashPassword(customer.login, password));
    }
  }

  private loadFlights(size: DatasetSize): void {
    for (const code of airports(size)) {
      this.airports.putSync(code, true);
    }
    for (const { from, to, date, flights } of departures(size)) {
      for (const flight of flights) {
        this.flights.putSync(flight.id, flight);
      }
      this.schedule.putSync(
        [from, to, date],
        flights.map((flight) => flight.id),
      );
    }
  }

  session(token: string): Promise<Session | undefined> {
    return this.read(() => this.sessions.get(token));
  }

  /** The entry of a removed session stays in expiries until it would expire. */
  putSession(token: string, session: Session): Promise<void> {
    return this.root.transaction(() => {
      const expired = { end: [new Date().toISOString(), ''], limit: sweptAtOnce };
      for (const key of [...this.expiries.getKeys(expired)]) {
        this.sessions.removeSync(key[1]);
        this.expiries.removeSync(key);
      }
      this.sessions.putSync(token, session);
      this.expiries.putSync([session.expires, token], true);
    });
  }

  async removeSession(token: string): Promise<void> {
    await this.sessions.remove(token);
  }

  customer(login: string): Promise<Customer | undefined> {
    return this.read(() => this.customers.get(login));
  }

  passwordHash(login: string): Promise<string | undefined> {
    return this.read(() => this.passwords.get(login));
  }

  updateCustomer(login: string, contact: Contact): Promise<Customer | undefined> {
    return this.root.transaction(() => {
      const customer = this.customers.get(login);
      if (customer === undefined) {
        return undefined;
      }
      const changed = { ...customer, ...contact };
      this.customers.putSync(login, changed);
      return changed;
    });
  }

  hasAirport(code: string): Promise<boolean> {
    return this.read(() => this.airports.get(code) !== undefined);
  }

  flight(id: string): Promise<Flight | undefined> {
    return this.read(() => this.flights.get(id));
  }

  departures(from: string, to: string, date: string): Promise<Flight[]> {
    return this.read(() => {
      const ids = this.schedule.get([from, to, date]) ?? [];
      return ids.map((id) => this.flights.get(id)).filter((flight) => flight !== undefined);
    });
  }

  addBookings(bookings: Booking[]): Promise<string | undefined> {
    return this.root.transaction(() => {
      const taken = bookings.find(({ login, flight }) => this.booked.get([login, flight]) !== undefined);
      if (taken !== undefined) {
        return taken.flight;
      }
      for (const booking of bookings) {
        this.bookings.putSync(booking.id, booking);
        this.booked.putSync([booking.login, booking.flight], booking.id);
      }
      return undefined;
    });
  }

  booking(id: string): Promise<Booking | undefined> {
    return this.read(() => this.bookings.get(id));
  }

  removeBooking({ id, login, flight }: Booking): Promise<boolean> {
    return this.root.transaction(() => {
      const removed = this.bookings.removeSync(id);
      // Once it is gone, the flight may have been booked anew, under another id.
      if (removed) {
        this.booked.removeSync([login, flight]);
      }
      return removed;
    });
  }

  bookingsOf(login: string): Promise<Booking[]> {
    return this.read(() => {
      const ids = this.booked.getRange({ start: [login, ''], end: [login, '\uffff'] });
      return [...ids].map(({ value }) => this.bookings.get(value)).filter((booking) => booking !== undefined);
    });
  }

  allBookings(): Iterable<Booking> {
    this.root.resetReadTxn();
    return this.bookings.getRange({ snapshot: true }).map(({ value }) => value);
  }

  close(): Promise<void> {
    return this.root.close();
  }

  /**
   * Reads what is committed now. LMDB's client keeps its view of the store for a moment; what another
   * process has written since then would be missing.
   */
  private read<T>(look: () => T): Promise<T> {
    this.root.resetReadTxn();
    return Promise.resolve(look());
  }
}
