// Values that change while several nodes tell them: which of them could be told at a moment, and which had to
// be.

/** Moment in milliseconds of the monotonic clock. */
export type Moment = number;

/** Span of time, from the first moment to the last. */
export type Span = { readonly from: Moment; readonly to: Moment };

/**
 * Value with the span in which it took effect: it was asked for at `from`, and is acknowledged since `sure`.
 */
type Change<Value> = {
  readonly value: Value;
  readonly from: Moment;
  /** Infinity while it is unknown whether the change happened. */
  sure: Moment;
};

/**
 * History of one value. A change that was sent and never answered stays possible, beside the value before it,
 * until `settle` says what the record has.
 */
export class Fact<Value> {
  private readonly changes: Change<Value>[];

  constructor(value: Value, from: Moment, sure: Moment) {
    this.changes = [{ value, from, sure }];
  }

  /** Notes a change that was sent at `from`; the function that is returned acknowledges it. */
  change(value: Value, from: Moment): (sure: Moment) => void {
    const change: Change<Value> = { value, from, sure: Number.POSITIVE_INFINITY };
    this.changes.push(change);
    return (sure) => {
      change.sure = sure;
    };
  }

  /** Notes what the record has since a moment of the span; earlier changes end with it. */
  settle(value: Value, { from, to }: Span): void {
    const last = this.changes.at(-1);
    if (last?.value === value && last.sure <= to) return;
    this.changes.push({ value, from, sure: to });
  }

  /** Returns the values that a node may tell in the span, if it may be as old as the span's beginning. */
  possible({ from, to }: Span): ReadonlySet<Value> {
    // A change may be told until any later one is acknowledged.
    const ends = this.changes.map((_, index) =>
      Math.min(...this.changes.slice(index + 1).map(({ sure }) => sure)),
    );
    const told = this.changes.filter((change, at) => change.from <= to && Number(ends[at]) >= from);
    return new Set(told.map(({ value }) => value));
  }

  /** Returns whether the value is the only one that a node may tell in the span. */
  isSurely(value: Value, span: Span): boolean {
    const first = this.changes[0];
    if (first === undefined || first.sure > span.from) return false;
    const values = this.possible(span);
    return values.size === 1 && values.has(value);
  }

  /** Returns the value that was acknowledged last, and since when. */
  get acknowledged(): { readonly value: Value; readonly since: Moment } | undefined {
    const last = this.changes.findLast(({ sure }) => sure !== Number.POSITIVE_INFINITY);
    return last === undefined ? undefined : { value: last.value, since: last.sure };
  }

  /** Moment since which a change is in doubt: it was sent, and nobody has said whether it happened. */
  get doubtfulSince(): Moment | undefined {
    const last = this.changes.at(-1);
    return last?.sure === Number.POSITIVE_INFINITY ? last.from : undefined;
  }

  /** Whether a change after the acknowledged one may have happened. */
  get isInDoubt(): boolean {
    return this.doubtfulSince !== undefined;
  }
}
