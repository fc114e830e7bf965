/** The data that the airline begins with: the study's loader, by a rule that all implementations share. */
import type { Customer, Flight } from './model.js';

/** The numbers of customers, airports, days and flights. */
export interface DatasetSize {
  customers: number;
  airports: number;
  days: number;
  /** Flights of a segment and day. */
  flights: number;
  /** YYYY-MM-DD. */
  firstDay: string;
}

const codes =
  'AMS ATH ATL BKK BOM CDG DEL DFW DXB FCO FRA GRU HKG HND IST ' +
  'JFK LAX LHR MAD MEX MIA MUC NRT ORD PEK SFO SIN SYD YYZ ZRH';

export const allAirports: readonly string[] = codes.split(' ');

/** The flights of one segment on one day. */
export interface Departures {
  from: string;
  to: string;
  /** YYYY-MM-DD. */
  date: string;
  flights: Flight[];
}

export function airports(size: DatasetSize): readonly string[] {
  return allAirports.slice(0, size.airports);
}

export function* departures(size: DatasetSize): Generator<Departures> {
  const dates = Array.from({ length: size.days }, (_, day) => dayAfter(size.firstDay, day));
  for (const [i, from] of airports(size).entries()) {
    for (const [j, to] of airports(size).entries()) {
      if (i === j) {
        continue;
      }
      const minutes = 60 + ((7 * i + 11 * j) % 600);
      for (const date of dates) {
        yield { from, to, date, flights: flightsOn(date, from, to, minutes, size.flights) };
      }
    }
  }
}

function flightsOn(date: string, from: string, to: string, minutes: number, count: number): Flight[] {
  return Array.from({ length: count }, (_, index) => {
    const hour = 6 + Math.floor((index * 16) / count);
    return {
      id: `${from}-${to}-${date.replaceAll('-', '')}-${String(index + 1)}`,
      from,
      to,
      departs: `${date}T${digits(hour, 2)}:00:00Z`,
      minutes,
      price: 5000 + 10 * minutes,
    };
  });
}

export function* customers(size: DatasetSize): Generator<{ customer: Customer; password: string }> {
  for (let n = 0; n < size.customers; n++) {
    const number = String(n);
    yield {
      customer: {
        login: `c${number}`,
        firstName: `First ${number}`,
        lastName: `Last ${number}`,
        phone: `+1 555 ${digits(n % 10_000, 4)}`,
        miles: 100 * (n % 1000),
        address: {
          street: `${number} Main Street`,
          city: 'Springfield',
          postcode: digits(n % 100_000, 5),
          country: 'US',
        },
      },
      password: `password-${number}`,
    };
  }
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

function dayAfter(first: string, days: number): string {
  const day = new Date(`${first}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
}
