import type { Flight } from './model.js';
import type { FlightFinder, FlightStore } from './ports.js';
import { Problem } from './problem.js';

export interface Trip {
  from: string;
  to: string;
  /** YYYY-MM-DD. */
  date: string;
  /** YYYY-MM-DD of the flight back; undefined if none is searched. */
  return?: string;
}

export interface Connections {
  outbound: Flight[];
  inbound: Flight[];
}

/** Searches flights. */
export class Flights implements FlightFinder {
  constructor(private readonly store: FlightStore) {}

  async search(trip: Trip): Promise<Connections> {
    for (const code of [trip.from, trip.to]) {
      if (!(await this.store.hasAirport(code))) {
        throw new Problem('unknown-airport', `there is no airport ${JSON.stringify(code)}`);
      }
    }
    const outbound = await this.store.departures(trip.from, trip.to, trip.date);
    const inbound =
      trip.return === undefined ? [] : await this.store.departures(trip.to, trip.from, trip.return);
    return { outbound, inbound };
  }

  flight(id: string): Promise<Flight | undefined> {
    return this.store.flight(id);
  }
}
