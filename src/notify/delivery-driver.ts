// Sends deliveries from the ledger, and mails to people: the messages of one destination in order, several
// destinations at a time. Every node does; a lease prevents two from sending to one destination at once. When
// the lease of a node that has died ends, another node sends its unfinished messages, with the same ids.

import type { DeliveryTry } from '../contract/notification.ts';
import { periodic, tellFault } from '../flow/periodic.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DueDelivery, DueMail, LeasedDestination } from '../store/delivery-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import { afterTry, retryMs, type TryOutcome } from './delivery-state.ts';
import { DIAL_MS_MAX } from './dialer.ts';
import type { SendMessage } from './send-message.ts';

/** Milliseconds between two queries for due messages. */
const TURN_INTERVAL_MS = 500;
/**
 * Maximum number of destinations that are sent to at a time: prompt ones, and slow ones, whose last tries
 * failed or took long. They are counted apart, so that a message to a prompt receiver waits for no slow one;
 * the ledger shares the places of each kind among the organizations.
 */
const PROMPT_MAX = 48;
const SLOW_MAX = 16;
/** Maximum number of mails to people that are sent at a time. */
const MAILS_MAX = 8;
/** Maximum milliseconds for a try: more than sending may take, so that it ends a try that hangs. */
const TRY_MS_MAX = DIAL_MS_MAX + 1000;
/** Milliseconds of a lease: a try with its calls of the ledger. After that, another node may send. */
const LEASE_MS = 13_000;
/** Maximum number of messages of a destination, and of milliseconds, before another one gets its place. */
const IN_A_ROW_MAX = 50;
const IN_A_ROW_MS_MAX = 2000;
/** Milliseconds between two sweeps, which delete old messages and count waiting ones. */
const SWEEP_MS = 15_000;
const SWEPT_AT_A_TIME_MAX = 500;
/** Maximum milliseconds for which `stop` waits for messages that are being sent. */
const STOP_MS_MAX = 1000;

/** Outcome of a try that took longer than `TRY_MS_MAX`. */
const HUNG: TryOutcome = {
  kind: 'failed',
  status: null,
  error: `Not sent within ${TRY_MS_MAX / 1000} s`,
};
/** Outcomes whose counters start at 0, so that monitoring sees the first of each as an increase. */
const OUTCOMES = ['delivered', 'failed', 'dropped'] as const;

export type DeliveryDriverDependencies = {
  readonly ledger: Pick<
    Ledger,
    | 'leaseDestinations'
    | 'nextDelivery'
    | 'releaseDestination'
    | 'recordTry'
    | 'disableDestination'
    | 'dropOldMessages'
    | 'countWaitingMessages'
    | 'leaseMails'
    | 'recordMail'
  >;
  readonly send: Pick<SendMessage, 'toDestination' | 'toPerson'>;
  /** Unique name of this process, which holds the leases. */
  readonly holder: string;
  /** Base URL of the console for links in messages; a message keeps the URL of its first try. */
  readonly consoleUrl: string;
  readonly metrics: Pick<Metrics, 'faults' | 'notifications'>;
  readonly log: Log;
  readonly now: () => number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
};

export class DeliveryDriver {
  private readonly loop = periodic(() => this.turn(), {
    ...{ everyMs: TURN_INTERVAL_MS, firstMs: 0 },
  });
  /** Destinations that this process is sending to, by id; `mails`: mails that it is sending, by id. */
  private readonly running = new Map<
    string,
    LeasedDestination & { readonly work: Promise<void> }
  >();
  private readonly mails = new Map<string, Promise<void>>();
  private sweptAt = Number.NEGATIVE_INFINITY;
  private sweeping: Promise<void> | undefined;
  /** Number of waiting messages, and the age of the oldest one, as of the last sweep. */
  waiting = { count: 0, oldestMs: 0 };

  /** Sends until `stop`. */
  readonly start = this.loop.start;

  constructor(private readonly dependencies: DeliveryDriverDependencies) {
    for (const outcome of OUTCOMES) dependencies.metrics.notifications.add(outcome, 0);
  }

  /** Stops, after up to a second for messages that are being sent: unfinished ones are sent again later. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await withinTime(this.settle(), STOP_MS_MAX);
  }

  /** Resolves when no message is being sent and no sweep runs. */
  async settle(): Promise<void> {
    while (this.running.size + this.mails.size > 0 || this.sweeping !== undefined) {
      const works = [...this.running.values()].map(({ work }) => work);
      await Promise.all([...works, ...this.mails.values(), this.sweeping]);
    }
  }

  /** Begins to send due messages, as many as places are free, and a sweep at the same time. Never rejects. */
  async turn(): Promise<void> {
    this.sweeping ??= this.sweep().finally(() => {
      this.sweeping = undefined;
    });
    try {
      await this.takeDestinations();
      await this.takeMails();
    } catch (error) {
      this.report(error);
    }
  }

  private async takeDestinations(): Promise<void> {
    const { ledger, holder } = this.dependencies;
    const held = [...this.running.values()];
    const slow = held.filter(({ isSlow }) => isSlow).length;
    const slowFree = SLOW_MAX - slow;
    const promptFree = PROMPT_MAX - (held.length - slow);
    if (slowFree + promptFree === 0) return;
    const places = { held, promptFree, slowFree };
    for (const leased of await ledger.leaseDestinations(holder, places, LEASE_MS)) {
      const work = this.serve(leased.id).finally(() => this.running.delete(leased.id));
      this.running.set(leased.id, { ...leased, work });
    }
  }

  /** Sends the messages of a leased destination, one after the other. Never rejects. */
  private async serve(id: string): Promise<void> {
    const { ledger, holder, consoleUrl, now } = this.dependencies;
    const terms = { leaseMs: LEASE_MS, consoleUrl };
    const since = now();
    try {
      for (let sent = 0; sent < IN_A_ROW_MAX && now() - since < IN_A_ROW_MS_MAX; sent++) {
        if (this.loop.isStopped) break;
        const askedAt = now();
        const due = await ledger.nextDelivery(id, holder, terms);
        // If the ledger took long, the lease could end before the try.
        if (due === undefined || now() - askedAt > LEASE_MS - TRY_MS_MAX) break;
        await this.deliver(due);
      }
      await ledger.releaseDestination(id, holder);
    } catch (error) {
      // The lease is not released: it ends by itself.
      this.report(error);
    }
  }

  private async deliver(due: DueDelivery): Promise<void> {
    const { ledger, send, metrics, log, now, random } = this.dependencies;
    const startedAt = now();
    const outcome = (await withinTime(send.toDestination(due), TRY_MS_MAX)) ?? HUNG;
    const tried = tryOf(outcome, startedAt, now());
    const next = afterTry(due, outcome, random());
    if (next.kind === 'disable') {
      // Before `recordTry`: if this node dies in between, the message still waits, and another node tries it.
      const wasOn = await ledger.disableDestination(due.destinationId, next.why);
      if (wasOn)
        log.warn({ destination: due.destinationId, why: next.why }, 'a destination was disabled');
    }
    const state =
      next.kind === 'retry'
        ? ({ state: 'waiting', inMs: next.inMs } as const)
        : ({ state: next.kind === 'delivered' ? 'delivered' : 'failed' } as const);
    await ledger.recordTry(due, tried, state);
    metrics.notifications.add(outcome.kind);
    const { id, event } = due;
    const line = { delivery: id, event: event.type, status: tried.status, ms: tried.ms };
    if (outcome.kind === 'delivered') log.debug(line, 'a notification was delivered');
    else log.info({ ...line, error: outcome.error }, 'a notification was not delivered');
  }

  private async takeMails(): Promise<void> {
    const free = MAILS_MAX - this.mails.size;
    if (free === 0) return;
    for (const mail of await this.dependencies.ledger.leaseMails(free, LEASE_MS)) {
      this.mails.set(
        mail.id,
        this.mail(mail).finally(() => this.mails.delete(mail.id)),
      );
    }
  }

  /** Sends a mail to a person. Never rejects. */
  private async mail(mail: DueMail): Promise<void> {
    const { ledger, send, metrics, log, random } = this.dependencies;
    try {
      const outcome = (await withinTime(send.toPerson(mail), TRY_MS_MAX)) ?? HUNG;
      const isSent = outcome.kind === 'delivered';
      await ledger.recordMail(mail.id, isSent ? undefined : retryMs(mail.failures + 1, random()));
      metrics.notifications.add(outcome.kind);
      if (isSent) log.debug({ mail: mail.kind }, 'a mail was sent');
      else log.warn({ mail: mail.kind, error: outcome.error }, 'a mail could not be sent');
    } catch (error) {
      this.report(error);
    }
  }

  /**
   * Deletes messages that are too old, and counts those that wait. That takes seconds if an organization has
   * millions, so sending does not wait for it. Never rejects.
   */
  private async sweep(): Promise<void> {
    const { ledger, metrics, now } = this.dependencies;
    if (now() - this.sweptAt < SWEEP_MS) return;
    this.sweptAt = now();
    try {
      const { deleted, dropped } = await ledger.dropOldMessages(SWEPT_AT_A_TIME_MAX);
      metrics.notifications.add('dropped', dropped);
      // There are more old messages: the next turn continues.
      if (deleted === SWEPT_AT_A_TIME_MAX) this.sweptAt = Number.NEGATIVE_INFINITY;
      this.waiting = await ledger.countWaitingMessages();
    } catch (error) {
      this.report(error);
    }
  }

  private report(error: unknown): void {
    const options = { waits: 'notifications wait' };
    tellFault(this.dependencies, 'notify', error, 'notifications could not be sent', options);
  }
}

function tryOf(outcome: TryOutcome, startedAt: number, endedAt: number): DeliveryTry {
  return {
    at: new Date(startedAt).toISOString(),
    status: outcome.status,
    error: outcome.kind === 'failed' ? outcome.error : null,
    ms: Math.max(0, Math.round(endedAt - startedAt)),
  };
}
