import { createHash } from 'node:crypto';
import type { Contact, Customer } from './model.js';
import type { Credentials, CustomerStore } from './ports.js';

/**
 * Hashes a password as it is stored. A real airline would use a function that is slow on purpose; this one is
 * quick, and the same in all implementations.
 */
export function hashPassword(login: string, password: string): string {
  return createHash('sha256').update(`${login}:${password}`).digest('hex');
}

/** The customers' own data. */
export class Customers implements Credentials {
  constructor(private readonly store: CustomerStore) {}

  async get(login: string): Promise<Customer> {
    return existing(login, await this.store.customer(login));
  }

  async update(login: string, contact: Contact): Promise<Customer> {
    return existing(login, await this.store.updateCustomer(login, contact));
  }

  async check(login: string, password: string): Promise<boolean> {
    return (await this.store.passwordHash(login)) === hashPassword(login, password);
  }
}

/**
 * Returns the customer of a session. A customer who has logged in is stored, unless the stores of the units
 * do not belong together.
 */
function existing(login: string, customer: Customer | undefined): Customer {
  if (customer === undefined) {
    throw new Error(`customer ${JSON.stringify(login)} has a session and is not stored`);
  }
  return customer;
}
