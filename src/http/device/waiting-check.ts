// A check that has to wait for the engine: for the decision of the device limit, or until its labels are
// stored. Many checks wait for one answer, and each continues in the turn of the event loop in which it
// comes. This avoids promises, because their chain would cost as much as the check itself.

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

/** Services and description that all waiting checks of a route share. */
export type WaitingRoute<Item extends Candidate> = {
  readonly question: Pick<DeviceQuestion<Item>, 'ready' | 'reply'>;
  readonly check: Pick<CheckUpdate, 'now' | 'noteLabels' | 'noted' | 'later'>;
  readonly gate: DeviceGate;
  readonly replies: RouteTraffic;
  readonly traffic: Traffic;
};

/** Parsed request of a device that waits. */
export type WaitingQuestion<Item extends Candidate> = {
  readonly query: CheckQuery<Item>;
  readonly device: CheckDevice;
  readonly ifNoneMatch: string;
};

export class WaitingCheck<Item extends Candidate> implements Asker<boolean> {
  private readonly beganAt: number;
  private isGone = false;
  private isOver = false;
  /** Slot of the channel at the time when the labels were sent to the engine. */
  private notedIn: CatalogSlot | undefined;

  constructor(
    private readonly route: WaitingRoute<Item>,
    private readonly request: DeviceRequest,
    private readonly asked: WaitingQuestion<Item>,
  ) {
    this.beganAt = route.replies.begin();
  }

  /** Begins to wait; the check answers by itself. Must be called before the request's handler returns. */
  begin(mustSettle: boolean): void {
    this.request.res.onAborted(() => {
      this.isGone = true;
    });
    if (mustSettle) this.route.gate.settle(this.onSettled());
    else this.attempt(() => this.note());
  }

  /** Continues once the labels are stored (`isNoted`), or could not be. */
  answered(isNoted: boolean): void {
    try {
      this.noted(isNoted);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Answers with the error of a step, or of the engine. */
  failed(error: unknown): void {
    const { request, route } = this;
    const { path, isHead } = request;
    const asked = { method: isHead ? 'HEAD' : 'GET', path, replies: route.replies };
    this.answer(faultReply(error, asked, route.traffic));
  }

  /** Returns the listener that continues with the decision of the device limit. */
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

  /** Stores the labels of the check in the engine, if it waits for that; else calls `wait`. */
  private note(): void {
    const { query, device } = this.asked;
    this.notedIn = query.scope.slot;
    if (!this.route.check.noteLabels(query, device, this)) this.wait(undefined);
  }

  private noted(isNoted: boolean): void {
    const { query, device } = this.asked;
    // The slot has changed: the labels were stored for another channel of this name.
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

  /** Answers with the result of `later`, which finds out what else the check waits for. */
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

  /** Runs a step; if it throws, only this check fails, not the others that wait for the same answer. */
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
    // After a failed write no second reply follows, because a part of the first may have been sent.
    if (this.isOver) return;
    sendable(reply);
    this.isOver = true;
    replies.end(this.isGone ? undefined : reply.status, this.beganAt);
    if (this.isGone) return;
    res.cork(() => writeReply(res, reply, isHead, traffic.endsConnection()));
  }
}
