// How a device's question is answered, whichever address it comes by. On a warm catalog that happens inside
// this function: no promise, no I/O, nothing parsed that was parsed for the same address before.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type Failure, isFailure, type Outcome } from '../../contract/failure.ts';
import { hashText } from '../../domain/cohort.ts';
import type { Plan } from '../../domain/plan.ts';
import type { CheckSubject } from '../../operations/check-subject.ts';
import type { CheckDevice, CheckUpdate, Settled } from '../../operations/check-update.ts';
import { answerLater, faultReply } from '../exchange.ts';
import { failureReply, type Reply, writeReply } from '../reply.ts';
import type { RequestHandler } from '../server.ts';
import type { Traffic } from '../traffic.ts';
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

export type DeviceHandlers = { readonly get: RequestHandler; readonly head: RequestHandler };

/** Addresses remembered with their parsed form; strangers choose them, so number and length are bounded. */
const SUBJECTS_MAX = 50_000;
const REMEMBERED_PATH_LENGTH_MAX = 256;

const NO_STORE = [['Cache-Control', 'no-store']] as const;

/** Builds the handlers for a question's addresses. */
export function createDeviceRoute<Planned extends Plan>(
  question: DeviceQuestion<Planned>,
  check: CheckUpdate,
  traffic: Traffic,
): DeviceHandlers {
  const subjects = new RecentMap<CheckSubject<Planned>>(SUBJECTS_MAX);
  const { parse, deviceHeaders, isConditional } = question;

  const subjectOf = (path: string): Outcome<CheckSubject<Planned>> => {
    const known = subjects.get(path);
    if (known !== undefined) return known;
    const subject = parse(path);
    if (!isFailure(subject) && path.length <= REMEMBERED_PATH_LENGTH_MAX) {
      subjects.set(path, subject);
    }
    return subject;
  };

  const serve = (res: HttpResponse, req: HttpRequest, isHead: boolean, path: string): void => {
    const subject = subjectOf(path);
    if (isFailure(subject)) return refuse(res, subject, isHead, traffic);
    const device = readDevice(req, deviceHeaders);
    if (isFailure(device)) return refuse(res, device, isHead, traffic);
    const ifNoneMatch = isConditional ? req.getHeader('if-none-match') : '';
    const settled = check.now(subject, device);
    if (settled !== undefined) {
      const reply = question.reply(settled, ifNoneMatch);
      return writeReply(res, reply, isHead, traffic.endsConnection());
    }
    answerLater(res, { method: isHead ? 'HEAD' : 'GET', path }, traffic, async () => {
      const outcome = await check.later(subject, device);
      return isFailure(outcome) ? refusalReply(outcome) : question.reply(outcome, ifNoneMatch);
    });
  };

  const handle = (res: HttpResponse, req: HttpRequest, isHead: boolean): void => {
    const path = req.getUrl();
    try {
      serve(res, req, isHead, path);
    } catch (error) {
      // An exception that leaves a handler ends the process: this one answer is all that may fail.
      const reply = faultReply(error, isHead ? 'HEAD' : 'GET', path, traffic);
      writeReply(res, reply, isHead, traffic.endsConnection());
      traffic.count(500);
    }
  };
  return {
    get: (res, req) => handle(res, req, false),
    head: (res, req) => handle(res, req, true),
  };
}

function readDevice(req: HttpRequest, headers: readonly string[]): Outcome<CheckDevice> {
  const labels = readLabels(req.getQuery());
  if (isFailure(labels)) return labels;
  let id: string | undefined;
  for (const header of headers) id ??= readDeviceIdentity(req.getHeader(header));
  return { id, hash: id === undefined ? undefined : hashText(id), labels };
}

function refuse(res: HttpResponse, failure: Failure, isHead: boolean, traffic: Traffic): void {
  writeReply(res, refusalReply(failure), isHead, traffic.endsConnection());
  traffic.count(failure.status);
}

/** Not to be kept either: the app that a 404 says is unknown may be there a second later. */
export function refusalReply(failure: Failure): Reply {
  const reply = failureReply(failure);
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}
