/** The description of the calls between units over gRPC, for its library. */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Flight, Session } from '../domain/model.js';

// In a built folder airline.proto is beside this file, in the source it is in the package of the interface.
const places = ['airline.proto', '../../../api/airlinepb/airline.proto'].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

/** The calls by their names, each with its request and its answer. */
export interface Calls {
  FindSession: [question: { token: string }, answer: { session: Session | null }];
  CheckPassword: [question: { login: string; password: string }, answer: { right: boolean }];
  FindFlight: [question: { id: string }, answer: { flight: Flight | null }];
}

export type ServiceName = 'Auth' | 'Customers' | 'Flights';

/** Loads the definitions of the services by their names. */
export function loadServices(): Record<ServiceName, ServiceDefinition> {
  const loaded = loadSync(places.find((place) => existsSync(place)) ?? '', { defaults: true });
  const service = (name: ServiceName) => loaded[`cleave.airline.v1.${name}`] as ServiceDefinition;
  return { Auth: service('Auth'), Customers: service('Customers'), Flights: service('Flights') };
}
