// Error for a refusal or fault of the service, with the message that the service sent.

export class ApiError extends Error {
  /** HTTP status of the answer; 0 when there was none. */
  readonly status: number;
  /** Whether it is only that the service cannot be reached: it is over as soon as the service answers. */
  readonly isOutage: boolean;

  constructor(status: number, message: string, isOutage = false) {
    super(message);
    this.status = status;
    this.isOutage = isOutage;
  }

  /** Returns the message to display: a refusal (`field: reason`) as it is, for a fault what to do. */
  get advice(): string {
    if (this.status === 429) return `${this.message}. Wait a moment, then try again.`;
    return this.message;
  }
}
