import { expect, test } from 'vitest';
import { airports, customers, departures, type DatasetSize } from '../src/domain/dataset.js';

const size: DatasetSize = { customers: 3, airports: 3, days: 31, flights: 3, firstDay: '2026-02-01' };

test('every ordered pair of airports has its flights on every day', () => {
  const all = [...departures(size)];
  expect(airports(size)).toEqual(['AMS', 'ATH', 'ATL']);
  expect(all).toHaveLength(3 * 2 * 31);
  expect(new Set(all.flatMap(({ flights }) => flights.map(({ id }) => id))).size).toBe(3 * 2 * 31 * 3);
});

test('a flight follows the rule', () => {
  const day = [...departures(size)].find(
    (d) => d.from === 'ATL' && d.to === 'ATH' && d.date === '2026-03-03',
  );
  expect(day?.flights.map(({ departs }) => departs.slice(10))).toEqual([
    'T06:00:00Z',
    'T11:00:00Z',
    'T16:00:00Z',
  ]);
  expect(day?.flights[2]).toEqual({
    id: 'ATL-ATH-20260303-3',
    from: 'ATL',
    to: 'ATH',
    departs: '2026-03-03T16:00:00Z',
    minutes: 60 + 7 * 2 + 11,
    price: 5000 + 10 * (60 + 7 * 2 + 11),
  });
});

test('customers follow the rule', () => {
  const last = [...customers({ ...size, customers: 12_346 })].at(-1);
  expect(last).toEqual({
    customer: {
      login: 'c12345',
      firstName: 'First 12345',
      lastName: 'Last 12345',
      phone: '+1 555 2345',
      miles: 34_500,
      address: { street: '12345 Main Street', city: 'Springfield', postcode: '12345', country: 'US' },
    },
    password: 'password-12345',
  });
});
