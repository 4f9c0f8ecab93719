// How a device's question is answered, whichever address it comes by. On a warm catalog that happens inside
// this function: no promise, no I/O, nothing parsed that was parsed for the same address before.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { LRUCache } from 'lru-cache';
import { type Failure, isFailure, type Outcome } from '../../contract/failure.ts';
import { hashText } from '../../domain/cohort.ts';
import type { Plan } from '../../domain/plan.ts';
import type {
  CheckDevice,
  CheckSubject,
  CheckUpdate,
  Settled,
} from '../../operations/check-update.ts';
import { answerLater, faultReply } from '../exchange.ts';
import { failureReply, type Reply, writeReply } from '../reply.ts';
import type { RequestHandler } from '../server.ts';
import type { Traffic } from '../traffic.ts';
import { readDeviceIdentity, readLabels } from './device-identity.ts';

/** One kind of address: what it asks, who asks there, and how the answer looks. */
export type DeviceQuestion<Planned extends Plan> = {
  /** The subject of a path; 404 when it has another form, 400 naming the part at fault. */
  readonly parse: (path: string) => Outcome<CheckSubject<Planned>>;
  /** The headers that may name the device, the one that counts most first. */
  readonly deviceHeaders: readonly string[];
  /** `ifNoneMatch` is empty when the request has none. */
  readonly reply: (settled: Settled<Planned>, ifNoneMatch: string) => Reply;
};

/** Addresses remembered with their parsed form; strangers choose them, so number and length are bounded. */
const SUBJECTS_MAX = 50_000;
const REMEMBERED_PATH_LENGTH_MAX = 256;

const NO_STORE = [['Cache-Control', 'no-store']] as const;

/** Builds the handler for GET and HEAD of a question's addresses. */
export function createDeviceRoute<Planned extends Plan>(
  question: DeviceQuestion<Planned>,
  check: CheckUpdate,
  traffic: Traffic,
): RequestHandler {
  const subjects = new LRUCache<string, CheckSubject<Planned>>({ max: SUBJECTS_MAX });

  const subjectOf = (path: string): Outcome<CheckSubject<Planned>> => {
    const known = subjects.get(path);
    if (known !== undefined) return known;
    const subject = question.parse(path);
    if (!isFailure(subject) && path.length <= REMEMBERED_PATH_LENGTH_MAX) {
      subjects.set(path, subject);
    }
    return subject;
  };

  const serve = (res: HttpResponse, req: HttpRequest, method: string, path: string): void => {
    const subject = subjectOf(path);
    if (isFailure(subject)) return refuse(res, subject, method, traffic);
    const device = readDevice(req, question.deviceHeaders);
    if (isFailure(device)) return refuse(res, device, method, traffic);
    const ifNoneMatch = req.getHeader('if-none-match');
    const settled = check.now(subject, device);
    if (settled !== undefined) {
      const reply = question.reply(settled, ifNoneMatch);
      return writeReply(res, reply, method === 'HEAD', traffic.endsConnection());
    }
    answerLater(res, { method, path }, traffic, async () => {
      const outcome = await check.later(subject, device);
      return isFailure(outcome) ? refusalReply(outcome) : question.reply(outcome, ifNoneMatch);
    });
  };

  return (res, req) => {
    const method = req.getMethod() === 'head' ? 'HEAD' : 'GET';
    const path = req.getUrl();
    try {
      serve(res, req, method, path);
    } catch (error) {
      // An exception that leaves a handler ends the process: this one answer is all that may fail.
      const reply = faultReply(error, method, path, traffic);
      writeReply(res, reply, method === 'HEAD', traffic.endsConnection());
      traffic.count(500);
    }
  };
}

function readDevice(req: HttpRequest, headers: readonly string[]): Outcome<CheckDevice> {
  const labels = readLabels(req.getQuery());
  if (isFailure(labels)) return labels;
  let id: string | undefined;
  for (const header of headers) id ??= readDeviceIdentity(req.getHeader(header));
  return { id, hash: id === undefined ? undefined : hashText(id), labels };
}

function refuse(res: HttpResponse, failure: Failure, method: string, traffic: Traffic): void {
  writeReply(res, refusalReply(failure), method === 'HEAD', traffic.endsConnection());
  traffic.count(failure.status);
}

/** Not to be kept either: the app that a 404 says is unknown may be there a second later. */
export function refusalReply(failure: Failure): Reply {
  const reply = failureReply(failure);
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}
