/** The vocabulary of the airline, which its public JSON shares. */

export interface Address {
  street: string;
  city: string;
  postcode: string;
  country: string;
}

/** The data about themselves that customers may change. */
export interface Contact {
  phone: string;
  address: Address;
}

export interface Customer extends Contact {
  login: string;
  firstName: string;
  lastName: string;
  miles: number;
}

export interface Flight {
  id: string;
  from: string;
  to: string;
  /** RFC 3339, UTC. */
  departs: string;
  minutes: number;
  /** In cents. */
  price: number;
}

export interface Booking {
  id: string;
  login: string;
  flight: string;
  /** RFC 3339 with milliseconds, UTC. */
  booked: string;
}

export interface Session {
  login: string;
  /** RFC 3339, UTC. */
  expires: string;
}

/** The result of a login. */
export interface Ticket {
  token: string;
  /** RFC 3339, UTC. */
  expires: string;
}
