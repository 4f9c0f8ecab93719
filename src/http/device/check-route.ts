// `GET /u/...`, the route this service exists for. A check on a warm catalog is answered inside this
// function: no promise, no I/O, nothing parsed that was parsed for the same address before.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { LRUCache } from 'lru-cache';
import { type Failure, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { hashText } from '../../domain/cohort.ts';
import type {
  CheckAnswer,
  CheckDevice,
  CheckSubject,
  CheckUpdate,
} from '../../operations/check-update.ts';
import { answerLater, faultReply } from '../exchange.ts';
import { failureReply, type Reply, writeReply } from '../reply.ts';
import type { Route } from '../router.ts';
import type { RequestHandler } from '../server.ts';
import type { Traffic } from '../traffic.ts';
import { parseCheckPath } from './check-path.ts';
import { readDeviceIdentity, readLabels } from './device-identity.ts';

/** Addresses remembered with their parsed form; strangers choose them, so number and length are bounded. */
const SUBJECTS_MAX = 50_000;
const REMEMBERED_URL_LENGTH_MAX = 256;

const DEVICE_HEADER = 'x-service-device';
/** The answer depends on a header and moves with every publish: no cache may keep it. */
const NO_STORE = [['Cache-Control', 'no-store']] as const;
const NOTHING: Reply = { status: 204, headers: NO_STORE };

/** Builds the handler for GET and HEAD below `/u/`. */
export function createCheckRoute(check: CheckUpdate, traffic: Traffic): RequestHandler {
  const subjects = new LRUCache<string, CheckSubject>({ max: SUBJECTS_MAX });

  const subjectOf = (url: string): Outcome<CheckSubject> => {
    const known = subjects.get(url);
    if (known !== undefined) return known;
    const subject = parseCheckPath(url);
    if (!isFailure(subject) && url.length <= REMEMBERED_URL_LENGTH_MAX) subjects.set(url, subject);
    return subject;
  };

  const serve = (res: HttpResponse, req: HttpRequest, method: string, path: string): void => {
    const subject = subjectOf(path);
    if (isFailure(subject)) return refuse(res, subject, method, traffic);
    const device = readDevice(req);
    if (isFailure(device)) return refuse(res, device, method, traffic);
    const answer = check.now(subject, device);
    if (answer !== undefined) return writeAnswer(res, answer, method, traffic);
    answerLater(res, { method, path }, traffic, async () => {
      const outcome = await check.later(subject, device);
      return isFailure(outcome) ? refusalReply(outcome) : answerReply(outcome);
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

/**
 * Stands in the router for the path, whose GET and HEAD never get there: any other method is 405.
 */
export const CHECK_PLACEHOLDER: Route = {
  method: 'GET',
  path: '/u/:appRef/:channel/:platform/:arch/:version',
  handler: () => failureReply(fail('notFound')),
};

function readDevice(req: HttpRequest): Outcome<CheckDevice> {
  const labels = readLabels(req.getQuery());
  if (isFailure(labels)) return labels;
  const id = readDeviceIdentity(req.getHeader(DEVICE_HEADER));
  return { id, hash: id === undefined ? undefined : hashText(id), labels };
}

function refuse(res: HttpResponse, failure: Failure, method: string, traffic: Traffic): void {
  writeReply(res, refusalReply(failure), method === 'HEAD', traffic.endsConnection());
  traffic.count(failure.status);
}

/** Not to be kept either: the app that a 404 says is unknown may be there a second later. */
function refusalReply(failure: Failure): Reply {
  const reply = failureReply(failure);
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}

/** Written without a Reply in between: this is the common path. uWebSockets.js has corked already. */
function writeAnswer(
  res: HttpResponse,
  { body }: CheckAnswer,
  method: string,
  traffic: Traffic,
): void {
  if (body === undefined || method === 'HEAD') {
    writeReply(res, answerReply({ body }), method === 'HEAD', traffic.endsConnection());
    return;
  }
  res.writeHeader('Cache-Control', 'no-store');
  res.writeHeader('Content-Type', 'application/json');
  res.end(body, traffic.endsConnection());
}

function answerReply({ body }: Pick<CheckAnswer, 'body'>): Reply {
  if (body === undefined) return NOTHING;
  return { status: 200, contentType: 'application/json', headers: NO_STORE, body };
}
