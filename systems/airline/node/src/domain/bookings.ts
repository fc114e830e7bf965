import { randomBytes } from 'node:crypto';
import type { Booking } from './model.js';
import type { BookingStore, FlightFinder } from './ports.js';
import { Problem } from './problem.js';

// Texts without the form of an id are not looked up.
const flightId = /^[A-Z]{3}-[A-Z]{3}-\d{8}-\d{1,3}$/;
const bookingId = /^[0-9a-f]{32}$/;

/** Books flights, lists bookings and cancels them. */
export class Bookings {
  constructor(
    private readonly store: BookingStore,
    private readonly flights: FlightFinder,
  ) {}

  /** Books all of the flights or none. */
  async book(login: string, flights: string[]): Promise<Booking[]> {
    for (const id of flights) {
      if (!flightId.test(id) || (await this.flights.flight(id)) === undefined) {
        throw new Problem('unknown-flight', `there is no flight ${JSON.stringify(id)}`);
      }
    }
    const booked = new Date().toISOString();
    const bookings = flights.map((flight) => ({
      id: randomBytes(16).toString('hex'),
      login,
      flight,
      booked,
    }));
    const taken = await this.store.addBookings(bookings);
    if (taken !== undefined) {
      throw new Problem('already-booked', `you have booked flight ${JSON.stringify(taken)} already`);
    }
    return bookings;
  }

  async list(login: string): Promise<Booking[]> {
    const bookings = await this.store.bookingsOf(login);
    return bookings.sort((a, b) => compare(a.booked, b.booked) || compare(a.id, b.id));
  }

  async cancel(login: string, id: string): Promise<void> {
    const booking = bookingId.test(id) ? await this.store.booking(id) : undefined;
    if (booking !== undefined && booking.login !== login) {
      throw new Problem('not-yours', `booking ${JSON.stringify(id)} is another customer's`);
    }
    // Another request may have cancelled it meanwhile.
    if (booking === undefined || !(await this.store.removeBooking(booking))) {
      throw new Problem('unknown-booking', `there is no booking ${JSON.stringify(id)}`);
    }
  }

  all(): AsyncIterable<Booking> | Iterable<Booking> {
    return this.store.allBookings();
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
