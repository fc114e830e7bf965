/**
 * What the rules need from elsewhere: from a store, or from another component, which may be in this
 * process or behind HTTP.
 */
import type { DatasetSize } from './dataset.js';
import type { Booking, Contact, Customer, Flight, Session, Ticket } from './model.js';

/** Tells whose a token is; undefined where it is nobody's, or not any more. */
export interface Sessions {
  find(token: string): Promise<Session | undefined>;
}

/** Sessions that can be opened and closed. */
export interface SessionBook extends Sessions {
  open(login: string): Promise<Ticket>;
  close(token: string): Promise<void>;
}

/** Tells whether a password is the customer's. */
export interface Credentials {
  check(login: string, password: string): Promise<boolean>;
}

/** Finds a flight by its id. */
export interface FlightFinder {
  flight(id: string): Promise<Flight | undefined>;
}

export interface SessionStore {
  session(token: string): Promise<Session | undefined>;
  /** Those that have expired are swept sooner or later. */
  putSession(token: string, session: Session): Promise<void>;
  removeSession(token: string): Promise<void>;
}

export interface CustomerStore {
  customer(login: string): Promise<Customer | undefined>;
  passwordHash(login: string): Promise<string | undefined>;
  /** Answers the customer as changed. */
  updateCustomer(login: string, contact: Contact): Promise<Customer | undefined>;
}

export interface FlightStore extends FlightFinder {
  hasAirport(code: string): Promise<boolean>;
  /** In the order of the flights' numbers; date is YYYY-MM-DD. */
  departures(from: string, to: string, date: string): Promise<Flight[]>;
}

export interface BookingStore {
  /**
   * Stores all or none. Answers the flight that the customer has already, where there is one; this
   * holds against whoever adds at the same time, in this process or another.
   */
  addBookings(bookings: Booking[]): Promise<string | undefined>;
  booking(id: string): Promise<Booking | undefined>;
  /** Answers false where the booking is gone: of those who remove it at the same time, one has true. */
  removeBooking(booking: Booking): Promise<boolean>;
  /** In no particular order. */
  bookingsOf(login: string): Promise<Booking[]>;
  allBookings(): AsyncIterable<Booking> | Iterable<Booking>;
}

/** Which part of the data somebody keeps. */
export interface Part {
  customers: boolean;
  flights: boolean;
}

/** All that a unit may keep. */
export interface Store extends SessionStore, CustomerStore, FlightStore, BookingStore {
  /** Makes the part of the data that is not there yet. Nobody else may use the store meanwhile. */
  load(part: Part, size: DatasetSize): Promise<void>;
  close(): Promise<void>;
}
