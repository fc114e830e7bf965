/** The kinds of refusals and failures; src/http has their statuses. */
export type ProblemKind =
  | 'bad-request'
  | 'wrong-credentials'
  | 'no-session'
  | 'not-yours'
  | 'unknown-path'
  | 'unknown-airport'
  | 'unknown-flight'
  | 'unknown-booking'
  | 'wrong-method'
  | 'already-booked'
  | 'too-large'
  | 'unavailable'
  | 'internal';

/** A refusal. Its message is for the client: it names the field or value, and reveals no internals. */
export class Problem extends Error {
  constructor(
    readonly kind: ProblemKind,
    detail: string,
  ) {
    super(detail);
  }
}
