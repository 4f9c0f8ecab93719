// A publishing call that its caller may repeat without publishing twice.

/** Identity of a call that carries an idempotency key. */
export type RepeatableCall = {
  /** Id of the API key, to which the idempotency key belongs. */
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** Text that is the same for the same call with the same bytes as body, and for no other. */
  readonly request: string;
};
