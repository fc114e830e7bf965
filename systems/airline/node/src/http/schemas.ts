/** JSON schemas. Those of requests are checked before the handlers run; those of answers encode them. */

// \p{Cs} is half of a surrogate pair, which JSON can have and UTF-8 cannot.
const text = { type: 'string', minLength: 1, maxLength: 256, pattern: '^\\P{Cs}*$' } as const;
const string = { type: 'string' } as const;
const integer = { type: 'integer' } as const;

/** All properties are required unless they are listed as optional. Others are not allowed. */
function object<T extends Record<string, unknown>>(properties: T, optional: string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false } as const;
}

function array(items: unknown) {
  return { type: 'array', items } as const;
}

export const credentials = object({ login: text, password: text });

export const contact = object({
  phone: text,
  address: object({ street: text, city: text, postcode: text, country: text }),
});

export const order = object({
  flights: { type: 'array', items: text, minItems: 1, maxItems: 2, uniqueItems: true },
});

export const trip = {
  ...object(
    {
      from: text,
      to: text,
      date: { type: 'string', format: 'date' },
      return: { type: 'string', format: 'date' },
    },
    ['return'],
  ),
  additionalProperties: true, // a query may have parameters that the airline does not know
};

export const ticket = object({ token: string, expires: string });

export const session = object({ login: string, expires: string });

export const customer = object({
  login: string,
  firstName: string,
  lastName: string,
  phone: string,
  miles: integer,
  address: object({ street: string, city: string, postcode: string, country: string }),
});

export const flight = object({
  id: string,
  from: string,
  to: string,
  departs: string,
  minutes: integer,
  price: integer,
});

export const connections = object({ outbound: array(flight), inbound: array(flight) });

export const bookings = object({
  bookings: array(object({ id: string, login: string, flight: string, booked: string })),
});
