// How a device's question is answered, whichever address it comes by. On a warm catalog that happens inside
// this function: no promise, no I/O, nothing parsed that was parsed for the same address before.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import {
  FAILURES,
  type Failure,
  type FailureKind,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { hashText } from '../../domain/cohort.ts';
import { ADMITTED, MUST_SETTLE } from '../../domain/device-windows.ts';
import { tagLabels } from '../../domain/label.ts';
import type { Plan } from '../../domain/plan.ts';
import type { Labels } from '../../domain/targeting.ts';
import { wordsOf } from '../../domain/text-words.ts';
import type { Settled } from '../../operations/catalog-slot.ts';
import type { CheckSubject } from '../../operations/check-subject.ts';
import type { CheckDevice, CheckUpdate } from '../../operations/check-update.ts';
import { refusalOf } from '../../operations/limit-devices.ts';
import { answerLater, faultReply } from '../exchange.ts';
import { failureReply, headerBlock, NO_STORE, type Reply, writeReply } from '../reply.ts';
import type { RequestHandler } from '../server.ts';
import type { Traffic } from '../traffic.ts';
import type { DeviceGate } from './device-gate.ts';
import { readDeviceIdentity, readLabels } from './device-identity.ts';
import { RecentMap } from './recent-map.ts';

/** One kind of address: what it asks, who asks there, and how the answer looks. */
export type DeviceQuestion<Planned extends Plan> = {
  /** The subject of a path; 404 when it has another form, 400 naming the part at fault. */
  readonly parse: (path: string) => Outcome<CheckSubject<Planned>>;
  /** The headers that may name the device, the one that counts most first. */
  readonly deviceHeaders: readonly string[];
  /** Whether the answer depends on `If-None-Match`. */
  readonly isConditional: boolean;
  /** `ifNoneMatch` is empty when the request has none, or the answer does not depend on it. */
  readonly reply: (settled: Settled<Planned>, ifNoneMatch: string) => Reply;
};

type SaidLabels = { readonly labels: Labels; readonly tag: number };

type DeviceRequest = {
  readonly res: HttpResponse;
  readonly isHead: boolean;
  readonly path: string;
};

/** Addresses remembered with their parsed form; strangers choose them, so their number is bounded. */
const SUBJECTS_MAX = 50_000;

/** Likewise queries with the labels in them: devices of a fleet say one of a few things. */
const QUERIES_MAX = 10_000;

const NO_LABELS: SaidLabels = { labels: new Map(), tag: tagLabels(new Map()) };

export type DeviceRouteDependencies = {
  readonly check: CheckUpdate;
  readonly gate: DeviceGate;
  readonly traffic: Traffic;
};

/** The handlers of a question's addresses. */
export class DeviceRoute<Planned extends Plan> {
  readonly get: RequestHandler = (res, req) => this.handle(res, req, false);
  readonly head: RequestHandler = (res, req) => this.handle(res, req, true);
  private readonly question: DeviceQuestion<Planned>;
  private readonly check: CheckUpdate;
  private readonly gate: DeviceGate;
  private readonly traffic: Traffic;
  private readonly subjects = new RecentMap<CheckSubject<Planned>>(SUBJECTS_MAX);
  private readonly said = new RecentMap<SaidLabels>(QUERIES_MAX);

  constructor(question: DeviceQuestion<Planned>, dependencies: DeviceRouteDependencies) {
    this.question = question;
    this.check = dependencies.check;
    this.gate = dependencies.gate;
    this.traffic = dependencies.traffic;
  }

  private handle(res: HttpResponse, req: HttpRequest, isHead: boolean): void {
    const request = { res, isHead, path: req.getUrl() };
    try {
      this.serve(request, req);
    } catch (error) {
      // An exception that leaves a handler ends the process: this one answer is all that may fail.
      const reply = faultReply(error, methodOf(request), request.path, this.traffic);
      writeReply(res, reply, isHead, this.traffic.endsConnection());
      this.traffic.count(500);
    }
  }

  private serve(request: DeviceRequest, req: HttpRequest): void {
    const { question, check } = this;
    const id = this.readDeviceId(req);
    const hash = id === undefined ? undefined : hashText(id);
    const wait = this.gate.now(request.res, req, id, hash);
    if (wait > ADMITTED) return this.refuse(request, refusalOf(wait));
    let subject = this.subjects.get(request.path);
    if (subject === undefined) {
      const parsed = this.newSubject(request.path);
      if (isFailure(parsed)) return this.refuseAfter(request, wait, parsed);
      subject = parsed;
    }
    const query = req.getQuery();
    let said = query === undefined ? NO_LABELS : this.said.get(query);
    if (said === undefined) {
      const read = this.newSaid(query as string);
      if (isFailure(read)) return this.refuseAfter(request, wait, read);
      said = read;
    }
    const device = { id, hash, labels: said.labels, labelsTag: said.tag };
    const ifNoneMatch = question.isConditional ? req.getHeader('if-none-match') : '';
    if (wait === ADMITTED) {
      const settled = check.now(subject, device);
      if (settled !== undefined) return this.write(request, question.reply(settled, ifNoneMatch));
      const refusal = check.refused(subject);
      if (refusal !== undefined) return this.refuse(request, refusal);
    }
    this.settleLater(request, wait, subject, device, ifNoneMatch);
  }

  private readDeviceId(req: HttpRequest): string | undefined {
    const { deviceHeaders } = this.question;
    for (let index = 0; index < deviceHeaders.length; index++) {
      const header = req.getHeader(deviceHeaders[index] as string);
      if (header === '') continue;
      // What is plain needs no decoding, and whether it is comes with the words that will be hashed.
      const isPlain = header.length <= LIMIT.deviceIdLengthMax && wordsOf(header).isAscii;
      const id = isPlain ? header : readDeviceIdentity(header);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  /** Apart from `serve`: a function with a closure in it pays for that whenever it is called. */
  private settleLater(
    request: DeviceRequest,
    wait: number,
    subject: CheckSubject<Planned>,
    device: CheckDevice,
    ifNoneMatch: string,
  ): void {
    this.answerAfter(request, wait, async () => {
      const outcome = await this.check.later(subject, device);
      return isFailure(outcome) ? refusalReply(outcome) : this.question.reply(outcome, ifNoneMatch);
    });
  }

  private newSubject(path: string): Outcome<CheckSubject<Planned>> {
    const subject = this.question.parse(path);
    if (!isFailure(subject)) this.subjects.keep(path, subject);
    return subject;
  }

  private newSaid(query: string): Outcome<SaidLabels> {
    const labels = readLabels(query);
    if (isFailure(labels)) return labels;
    const said = { labels, tag: tagLabels(labels) };
    this.said.keep(query, said);
    return said;
  }

  private refuseAfter(request: DeviceRequest, wait: number, failure: Failure): void {
    if (wait === ADMITTED) this.refuse(request, failure);
    else this.answerAfter(request, wait, () => refusalReply(failure));
  }

  /** Answers with what `work` comes to, if the gate lets the request in. */
  private answerAfter(
    request: DeviceRequest,
    wait: number,
    work: () => Reply | Promise<Reply>,
  ): void {
    const { res, path } = request;
    // In this turn: the gate remembers the request that came last.
    const admitted = wait === MUST_SETTLE ? this.gate.later() : undefined;
    answerLater(res, { method: methodOf(request), path }, this.traffic, async () => {
      const seconds = admitted === undefined ? ADMITTED : await admitted;
      return seconds === ADMITTED ? work() : refusalReply(refusalOf(seconds));
    });
  }

  private refuse(request: DeviceRequest, failure: Failure): void {
    this.write(request, refusalReply(failure));
    this.traffic.count(failure.status);
  }

  private write({ res, isHead }: DeviceRequest, reply: Reply): void {
    writeReply(res, reply, isHead, this.traffic.endsConnection());
  }
}

function methodOf({ isHead }: DeviceRequest): string {
  return isHead ? 'HEAD' : 'GET';
}

/** Refusals that say no more than their kind: a stray fleet hears them as often as others hear of updates. */
const plainRefusals = new Map<FailureKind, Reply>();

/** Not to be kept either: the app that a 404 says is unknown may be there a second later. */
export function refusalReply(refusal: Failure): Reply {
  const { failure, message, retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined || message !== FAILURES[failure].message) {
    return writeRefusal(refusal);
  }
  let reply = plainRefusals.get(failure);
  if (reply === undefined) {
    reply = writeRefusal(refusal);
    plainRefusals.set(failure, reply);
  }
  return reply;
}

function writeRefusal(failure: Failure): Reply {
  const { status, headers = [], contentType = '', body = '' } = failureReply(failure);
  const all = headerBlock([...headers, ...NO_STORE, ['Content-Type', contentType]]);
  return { status, headers: all, body: Buffer.from(body) };
}
