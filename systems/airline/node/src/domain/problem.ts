/** Everything that the airline refuses; what each means in HTTP, src/http knows. */
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

/** A refusal. Its message is for the client: which field or value, and nothing of the inside. */
export class Problem extends Error {
  constructor(
    readonly kind: ProblemKind,
    detail: string,
  ) {
    super(detail);
  }
}
