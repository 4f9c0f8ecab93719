// A check that has to wait for an answer of the engine: whether the device limit admits it, or that its
// labels are noted. Many checks wait for one answer, and each goes on in the turn of that answer, without
// promises: the chain of those that a check would pass costs as much as the check itself.

import { isFailure } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import { ADMITTED } from '../../domain/fleet/sliding-window-limiter.ts';
import { refusalOf } from '../../fleet/device-limit.ts';
import type { Asker } from '../../flow/batcher.ts';
import type { CatalogSlot, CheckQuery, PlanDecision } from '../../serving/catalog-slot.ts';
import type { CheckDevice, CheckUpdate } from '../../serving/check-update.ts';
import { faultReply } from '../transport/exchange.ts';
import { type Reply, sendable } from '../transport/reply.ts';
import type { RouteTraffic, Traffic } from '../transport/request-observation.ts';
import { writeReply } from '../transport/write-reply.ts';
import type { DeviceGate } from './device-gate.ts';
import type { DeviceQuestion, DeviceRequest } from './device-question.ts';
import { refusalReply } from './refusal-reply.ts';

/** What all waiting checks of a route share. */
export type WaitingRoute<Item extends Candidate> = {
  readonly question: Pick<DeviceQuestion<Item>, 'ready' | 'reply'>;
  readonly check: Pick<CheckUpdate, 'now' | 'noteLabels' | 'noted' | 'later'>;
  readonly gate: DeviceGate;
  readonly replies: RouteTraffic;
  readonly traffic: Traffic;
};

/** Request of a device that waits, as its handler has read it. */
export type WaitingQuestion<Item extends Candidate> = {
  readonly query: CheckQuery<Item>;
  readonly device: CheckDevice;
  readonly ifNoneMatch: string;
};

export class WaitingCheck<Item extends Candidate> implements Asker<boolean> {
  private readonly beganAt: number;
  private isGone = false;
  private isOver = false;
  /** Channel for whose app the labels are noted. */
  private notedIn: CatalogSlot | undefined;

  constructor(
    private readonly route: WaitingRoute<Item>,
    private readonly request: DeviceRequest,
    private readonly asked: WaitingQuestion<Item>,
  ) {
    this.beganAt = route.replies.begin();
  }

  /** Begins to wait, and answers in the end. Must be called before the handler of the request returns. */
  begin(mustSettle: boolean): void {
    this.request.res.onAborted(() => {
      this.isGone = true;
    });
    if (mustSettle) this.route.gate.settle(this.onSettled());
    else this.attempt(() => this.note());
  }

  /** Goes on once the labels are noted, or are not. */
  answered(isNoted: boolean): void {
    try {
      this.noted(isNoted);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Answers with the fault of a step or of an answer that was waited for. */
  failed(error: unknown): void {
    const { request, route } = this;
    const { path, isHead } = request;
    const asked = { method: isHead ? 'HEAD' : 'GET', path, replies: route.replies };
    this.answer(faultReply(error, asked, route.traffic));
  }

  /** Goes on with what the device limit says. */
  private onSettled(): Asker<number> {
    return {
      answered: (seconds) => this.attempt(() => this.settled(seconds)),
      failed: (error) => this.failed(error),
    };
  }

  private settled(seconds: number): void {
    if (seconds !== ADMITTED) return this.answer(refusalReply(refusalOf(seconds)));
    const { query, device } = this.asked;
    const decision = this.route.check.now(query, device);
    if (decision === undefined) this.note();
    else this.decided(decision);
  }

  /** Notes the labels of the check, if that is what it waits for. */
  private note(): void {
    const { query, device } = this.asked;
    this.notedIn = query.scope.slot;
    if (!this.route.check.noteLabels(query, device, this)) this.wait(undefined);
  }

  private noted(isNoted: boolean): void {
    const { query, device } = this.asked;
    // Of another channel of this name nothing is known.
    if (query.scope.slot !== this.notedIn) return this.wait(undefined);
    const decision = isNoted ? this.route.check.noted(query, device) : undefined;
    if (decision === undefined) this.wait(isNoted);
    else this.decided(decision);
  }

  private decided(decision: PlanDecision<Item>): void {
    const { question } = this.route;
    const waiting = question.ready?.(decision);
    if (waiting === undefined) return this.answer(question.reply(decision, this.asked.ifNoneMatch));
    const write = () => this.answer(question.reply(decision, this.asked.ifNoneMatch));
    waiting.then(
      () => this.attempt(write),
      (error) => this.failed(error),
    );
  }

  /** Lets `later` find out what else the check waits for. */
  private wait(isNoted: boolean | undefined): void {
    this.replyLater(isNoted).then(
      (reply) => this.attempt(() => this.answer(reply)),
      (error) => this.failed(error),
    );
  }

  private async replyLater(isNoted: boolean | undefined): Promise<Reply> {
    const { query, device, ifNoneMatch } = this.asked;
    const { check, question } = this.route;
    const outcome = await check.later(query, device, isNoted);
    if (isFailure(outcome)) return refusalReply(outcome);
    await question.ready?.(outcome);
    return question.reply(outcome, ifNoneMatch);
  }

  /** Does a step; a bug in it fails this check alone, not those that wait for the same answer. */
  private attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.failed(error);
    }
  }

  private answer(reply: Reply): void {
    const { res, isHead } = this.request;
    const { replies, traffic } = this.route;
    // A reply that could not be written is followed by no other one: its beginning may have left.
    if (this.isOver) return;
    sendable(reply);
    this.isOver = true;
    replies.end(this.isGone ? undefined : reply.status, this.beganAt);
    if (this.isGone) return;
    res.cork(() => writeReply(res, reply, isHead, traffic.endsConnection()));
  }
}
