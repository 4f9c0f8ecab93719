// Judge of the answers that one device gets which speaks DDI. It knows what the device has done and was told,
// one request after another, and what contract 34.59 to 34.61 say that never happens. Like `oracle.ts` it
// knows nothing of how the service works.

import type { Moment, Span } from './fact.ts';
import { BEHIND_MS_MAX, isHigher, type ModelChannel } from './oracle.ts';

/** Request that changed something; `answered` is Infinity where nobody has acknowledged it. */
export type DdiChange = {
  readonly asked: Moment;
  readonly answered: Moment;
  /** Whether it closed an action: PostgreSQL has that before the answer if it can. */
  readonly isClosing: boolean;
};

/** Answer to a request, as old as the beginning of its span at most. */
export type DdiAnswer = {
  readonly asked: Moment;
  readonly answered: Moment;
  readonly span: Span;
  /** Whether the ledger was going back, so that nobody knows what is published. */
  readonly isLosing: boolean;
  /** Whether the stores surely have a change still, whatever failed since. */
  readonly isKept: (change: DdiChange) => boolean;
};

/** What a poll lists, and the version in its address. */
export type DdiPoll = DdiAnswer & {
  readonly version: string | undefined;
  readonly deployment: string | undefined;
  readonly cancel: string | undefined;
  readonly asksAttributes: boolean;
};

type Told = { readonly version: string; readonly change: DdiChange };
type Listed = {
  readonly id: string;
  /** First poll that listed it, and the oldest state that it was answered from. */
  readonly change: DdiChange;
  readonly since: Moment;
  fetched: DdiChange | undefined;
};
type Closing = {
  readonly id: string;
  /** Version that the device had fetched: a ledger that went back may have given the number again since. */
  readonly version: string;
  readonly result: 'success' | 'failure';
  readonly change: DdiChange;
  /** Whether the action was surely the device's when it was closed. */
  readonly isOwn: boolean;
  /** Whether the version was told after it, and another one after that. */
  isOver: boolean;
};

/** Minutes after which a device gets a release again that failed, in every app of the run. */
export const RETRY_AFTER_MINUTES = 5;
const RETRY_MS = RETRY_AFTER_MINUTES * 60_000;
/** Bars of a device that are kept. */
const BARS_MAX = 8;

/** Versions of an app's releases, by the numbers that ids have. */
export class ReleaseNumbers {
  private readonly versions = new Map<string, string>();

  /**
   * Returns the version that an id means; undefined before any device has fetched an action of it. A node
   * that has not followed a ledger that went back may have told one that is lost: its number is given again.
   */
  of(id: string, model: ModelChannel): string | undefined {
    const version = this.versions.get(id.slice(0, -1));
    return version === undefined || isLost(model, version) ? undefined : version;
  }

  /** Forgets all numbers: a ledger that went back gives some of them to other releases. */
  forget(): void {
    this.versions.clear();
  }

  /** Notes what a device fetched; returns why that cannot be. */
  fault(id: string, version: string, model: ModelChannel): string | undefined {
    const number = id.slice(0, -1);
    const known = this.versions.get(number);
    this.versions.set(number, version);
    // The number of a release that the record has lost may be given again.
    if (known === undefined || known === version || isLost(model, known)) return undefined;
    return `the id ${id} means ${known} and ${version}`;
  }
}

export class DdiHistory {
  private put: DdiChange | undefined;
  private told: Told | undefined;
  private listed: Listed | undefined;
  private readonly ended = new Map<string, DdiChange>();
  private readonly closings: Closing[] = [];
  /** Closings that one store lost, as a poll has shown, and the other may have. */
  private readonly doubted: Closing[] = [];
  /** Whether a poll was not answered since the last one that was. */
  private isPollInDoubt = false;
  /** Moment since which the record surely has the device again; Infinity while a loss has taken it. */
  private recordedSince = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly device: string,
    private readonly model: ModelChannel,
    private readonly numbers: ReleaseNumbers,
  ) {}

  /**
   * Notes that a loss has taken a device that was told to be on record. What it tells until it is `back`
   * may be lost: 34.36 promises what either store keeps to devices on record.
   */
  lost(): void {
    if (this.put !== undefined) this.recordedSince = Number.POSITIVE_INFINITY;
  }

  /** Notes that the record had the device at a moment. */
  back(at: Moment): void {
    if (this.recordedSince === Number.POSITIVE_INFINITY) this.recordedSince = at;
  }

  /** Judges a poll and notes it; returns why its answer is wrong. */
  poll(told: DdiPoll): string | undefined {
    const poll = this.asRecorded(told);
    const { deployment, cancel, asked, answered } = poll;
    const change = { asked, answered, isClosing: false };
    if (poll.version !== undefined) this.tell(poll.version, change);
    const fault = this.pollFault(poll);
    const id = deployment ?? cancel;
    if (this.listed !== undefined && this.listed.id !== id) {
      this.ended.set(this.listed.id, change);
      this.listed = undefined;
    }
    if (id !== undefined) this.list(id, change, poll.span.from);
    this.isPollInDoubt = false;
    return fault;
  }

  /** Notes a poll without an answer: what it has changed is not known. */
  pollUnanswered(version: string | undefined, asked: Moment): void {
    this.isPollInDoubt = true;
    if (version !== undefined) this.tell(version, unacknowledged(asked));
  }

  /** Judges the answer to a fetch; `version` is undefined for 404. */
  fetched(told: DdiAnswer, id: string, version: string | undefined): string | undefined {
    const answer = this.asRecorded(told);
    const { asked, answered } = answer;
    if (version === undefined) {
      return this.isSurelyOpen(answer, id) ? `the action ${id} is unknown` : undefined;
    }
    if (this.listed?.id === id) this.listed.fetched ??= { asked, answered, isClosing: false };
    // Who answered may not know yet what the ledger has lost.
    const fault = answer.isLosing ? undefined : this.numbers.fault(id, version, this.model);
    const statuses = this.model.releases.get(version)?.status.possible(answer.span);
    const isAbsent = statuses?.size === 1 && statuses.has('absent');
    if (isAbsent) return `${id} is fetched for ${version}, which was absent all the time`;
    return fault ?? this.listedFault(answer, id);
  }

  /** Notes attributes that were sent, with the version among them. */
  attributes(change: DdiChange, version: string | undefined): void {
    this.put = change;
    if (version !== undefined) this.tell(version, change);
  }

  /** Notes that the device has closed an action, for which it had fetched a version. */
  closed(id: string, version: string, result: Closing['result'], change: DdiChange): void {
    const isOwn = this.listed?.id === id && !this.isPollInDoubt;
    this.closings.push({ id, version, result, change, isOwn, isOver: false });
  }

  /** Notes that the device has answered a cancellation. */
  cancelled(id: string, change: DdiChange): void {
    this.ended.set(id, change);
  }

  /** Returns an answer by which nothing is kept that was asked for before the record had the device again. */
  private asRecorded<Answer extends DdiAnswer>(answer: Answer): Answer {
    const isKept = (change: DdiChange) =>
      change.asked >= this.recordedSince && answer.isKept(change);
    return { ...answer, isKept };
  }

  private tell(version: string, change: DdiChange): void {
    const before = this.told?.version;
    for (const closing of this.closings) {
      if (closing.version === before && version !== before) closing.isOver = true;
    }
    this.told = { version, change };
  }

  private list(id: string, change: DdiChange, since: Moment): void {
    this.listed ??= { id, change, since, fetched: undefined };
    this.ended.delete(id);
    // Closings that a fault took are not on record.
    for (let at = this.closings.length - 1; at >= 0; at--) {
      if (this.closings[at]?.id === id) this.doubted.push(...this.closings.splice(at, 1));
    }
  }

  private pollFault(poll: DdiPoll): string | undefined {
    const { deployment, cancel, asksAttributes, isKept } = poll;
    if (deployment !== undefined && cancel !== undefined) {
      return `the poll lists ${deployment} and ${cancel}`;
    }
    if (asksAttributes && this.put !== undefined && isKept(this.put)) {
      return 'attributes are asked for again';
    }
    const id = deployment ?? cancel;
    const fault = id && this.listedFault(poll, id);
    if (fault || cancel !== undefined || poll.isLosing) return fault;
    return (deployment && this.deploymentFault(poll, deployment)) ?? this.lessFault(poll);
  }

  /** Returns why an action cannot be listed or fetched: it has ended. */
  private listedFault({ isKept }: DdiAnswer, id: string): string | undefined {
    const isClosed = this.closings.some((each) => each.id === id && isKept(each.change));
    if (isClosed) return `the action ${id} is there after its closing`;
    const end = this.ended.get(id);
    return end && isKept(end) ? `the action ${id} is there after its end` : undefined;
  }

  private deploymentFault(poll: DdiPoll, id: string): string | undefined {
    const { span, isKept, asked } = poll;
    if (this.listed !== undefined && this.listed.id !== id) {
      const { fetched, id: other } = this.listed;
      const isFetched = fetched !== undefined && isKept(fetched);
      if (isFetched && this.isSurelyOpen(poll, other)) return `${other} and ${id} are both open`;
    }
    const version = this.numbers.of(id, this.model);
    if (version === undefined) return undefined;
    const statuses = this.model.releases.get(version)?.status.possible(span) ?? new Set();
    if (!statuses.has('published')) {
      return `${id} is for ${version}, which was ${[...statuses].join(' or ')} all the time`;
    }
    const told = this.surelyTold(poll);
    if (told !== undefined && !isHigher(version, told)) {
      return `${id} is for ${version}, and the device has told ${told}`;
    }
    const bar = this.closings.slice(-BARS_MAX).find((bar) => {
      // What is published again after a loss may have another number, and is another release.
      const isOne = bar.version === version && bar.id.slice(0, -1) === id.slice(0, -1);
      const isForIt = isOne && bar.isOwn && !bar.isOver && isKept(bar.change);
      const isOver =
        bar.result === 'failure' && asked - bar.change.asked > RETRY_MS - BEHIND_MS_MAX;
      return isForIt && !isOver;
    });
    if (bar === undefined) return undefined;
    const why = `${bar.id} ended in ${bar.result} ${Math.round(asked - bar.change.asked)} ms ago`;
    return `${id} is for ${version}, from which the device is barred: ${why}`;
  }

  /** Returns what a poll does not list and must: the highest release that is surely for the device. */
  private lessFault(poll: DdiPoll): string | undefined {
    const { deployment = '', span, isKept } = poll;
    const { put, model } = this;
    if (put === undefined || !isKept(put) || this.mayBeOpen(deployment)) return undefined;
    const least =
      deployment === '' ? this.surelyTold(poll) : this.numbers.of(deployment, this.model);
    if (least === undefined) return undefined;
    const missed = [...model.releases.values()]
      .filter(({ version }) => isHigher(version, least))
      .filter((release) => model.mustBeOffered(release, this.device, span))
      .reduce<string | undefined>((top, { version }) => higherOf(version, top), undefined);
    if (missed === undefined) return undefined;
    // No lower release takes the place of one that the device is barred from.
    const isMaybeBarred = [...model.releases.keys()].some(
      (version) => !isHigher(missed, version) && this.mayBeBarred(version),
    );
    return isMaybeBarred ? undefined : `${missed} is not listed, but ${deployment || 'nothing'}`;
  }

  /** Returns whether an action may have been open before, and stays in place of a newer one. */
  private mayBeOpen(id: string): boolean {
    if (id === '') return false;
    const isKnown = this.ended.has(id) || this.closings.some((each) => each.id === id);
    return isKnown || this.listed?.id === id || this.isPollInDoubt;
  }

  /** Returns the version on record, if that is sure. */
  private surelyTold({ version, isKept }: DdiPoll): string | undefined {
    const { told } = this;
    return version ?? (told && isKept(told.change) ? told.version : undefined);
  }

  private mayBeBarred(version: string): boolean {
    return [...this.closings, ...this.doubted].some((each) => {
      return each.version === version || isLost(this.model, each.version);
    });
  }

  /** Returns whether the action that was listed last is open still, in every state of the span. */
  private isSurelyOpen({ span, isKept, isLosing }: DdiAnswer, id: string): boolean {
    const { listed, isPollInDoubt } = this;
    if (isLosing || listed?.id !== id || isPollInDoubt || this.ended.has(id)) return false;
    if (this.closings.some((each) => each.id === id)) return false;
    const version = this.numbers.of(id, this.model);
    if (version === undefined || this.told?.version === version) return false;
    if (!isKept(listed.change)) return false;
    const since = Math.min(listed.since, span.from);
    const status = this.model.releases.get(version)?.status;
    return status?.isSurely('published', { from: since, to: span.to }) ?? false;
  }
}

function higherOf(version: string, other: string | undefined): string {
  return isHigher(version, other) ? version : String(other);
}

function isLost({ releases }: ModelChannel, version: string): boolean {
  return releases.get(version)?.status.acknowledged?.value === 'absent';
}

/** Returns a change of which nobody knows whether it happened. */
export function unacknowledged(asked: Moment): DdiChange {
  return { asked, answered: Number.POSITIVE_INFINITY, isClosing: false };
}
