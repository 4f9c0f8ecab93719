// A refusal or a fault of the service, in the words it gave.

export class ApiError extends Error {
  /** The HTTP status; 0 when the service could not be reached at all. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** What to tell a person: `field: reason` reads as it is, a fault says what to do. */
  get advice(): string {
    if (this.status === 0)
      return 'The service cannot be reached. Your connection, or the service, is down.';
    if (this.status === 429) return `${this.message}. Wait a moment, then try again.`;
    return this.message;
  }
}
