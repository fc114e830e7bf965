/** What components need: a store, or another component, which may be in this process or in another unit. */
import type { DatasetSize } from './dataset.js';
import type { Booking, Contact, Customer, Flight, Session, Ticket } from './model.js';

/** Finds the session of a token; undefined if there is none, or it has expired. */
export interface Sessions {
  find(token: string): Promise<Session | undefined>;
}

/** Sessions that can be opened and closed. */
export interface SessionBook extends Sessions {
  open(login: string): Promise<Ticket>;
  close(token: string): Promise<void>;
}

/** Checks the password of a customer. */
export interface Credentials {
  check(login: string, password: string): Promise<boolean>;
}

/** Finds a flight by its id. */
export interface FlightFinder {
  flight(id: string): Promise<Flight | undefined>;
}

export interface SessionStore {
  session(token: string): Promise<Session | undefined>;
  /** Expired sessions are removed sooner or later. */
  putSession(token: string, session: Session): Promise<void>;
  removeSession(token: string): Promise<void>;
}

export interface CustomerStore {
  customer(login: string): Promise<Customer | undefined>;
  passwordHash(login: string): Promise<string | undefined>;
  /** Returns the changed customer; undefined if there is none. */
  updateCustomer(login: string, contact: Contact): Promise<Customer | undefined>;
}

export interface FlightStore extends FlightFinder {
  hasAirport(code: string): Promise<boolean>;
  /** In the order of the flights' numbers; date is YYYY-MM-DD. */
  departures(from: string, to: string, date: string): Promise<Flight[]>;
}

export interface BookingStore {
  /**
   * Stores all of these bookings, which are of one customer. If the customer has one of the flights already,
   * it stores none and returns the id of that flight. This holds for concurrent requests and processes, too.
   */
  addBookings(bookings: Booking[]): Promise<string | undefined>;
  booking(id: string): Promise<Booking | undefined>;
  /** Returns false if the booking is gone: of concurrent calls for one booking, one returns true. */
  removeBooking(booking: Booking): Promise<boolean>;
  /** In no particular order. */
  bookingsOf(login: string): Promise<Booking[]>;
  allBookings(): AsyncIterable<Booking> | Iterable<Booking>;
}

/** The part of the data that a unit keeps. */
export interface Part {
  customers: boolean;
  flights: boolean;
}

/** All that a unit may keep. */
export interface Store extends SessionStore, CustomerStore, FlightStore, BookingStore {
  /** Makes the part of the data that is missing. No other process may use the store meanwhile. */
  load(part: Part, size: DatasetSize): Promise<void>;
  close(): Promise<void>;
}
