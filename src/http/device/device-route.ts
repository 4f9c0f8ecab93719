// Handlers of update checks, which all updaters share. If the channel's catalog is loaded, a check is
// answered before its handler returns: without a promise, without I/O, and without parsing again a path or
// query string that is cached.

import { type Failure, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { MistakenId } from '../../contract/ref.ts';
import { isFoldedAway } from '../../contract/text.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import { utf8WordsOf } from '../../domain/decision/hashes.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';
import { ADMITTED, MUST_SETTLE } from '../../domain/fleet/sliding-window-limiter.ts';
import { refusalOf } from '../../fleet/device-limit.ts';
import type { CheckQuery, PlanDecision } from '../../serving/catalog-slot.ts';
import type { CheckDevice, CheckUpdate } from '../../serving/check-update.ts';
import type { AskingClient } from '../../updater/updater.ts';
import type { HttpRequest } from '../transport/http-app.ts';
import type { Reply } from '../transport/reply.ts';
import type { Traffic } from '../transport/request-observation.ts';
import { type DeviceGate, readDeviceText } from './device-gate.ts';
import type { DeviceQuestion, DeviceRequest } from './device-question.ts';
import { DirectRoute } from './direct-route.ts';
import { GenerationalCache } from './generational-cache.ts';
import { refusalReply } from './refusal-reply.ts';
import { EMPTY_QUERY, type RequestQuery, readRequestQuery } from './request-query.ts';
import { WaitingCheck, type WaitingQuestion, type WaitingRoute } from './waiting-check.ts';

/** Maximum number of cached queries by path; bounded, because clients choose paths. */
const PATHS_MAX = 50_000;

/** Maximum number of cached query strings; devices of a fleet send few different ones. */
const QUERY_TEXTS_MAX = 10_000;

/** Suffix of the cache's key for clients with the question's User-Agent; no path has a space. */
const AGENT_VARIANT = ' agent';

export type DecisionRouteDependencies = {
  readonly check: Pick<CheckUpdate, 'now' | 'refused' | 'later'>;
  readonly traffic: Traffic;
};

export type DeviceRouteDependencies = DecisionRouteDependencies & {
  readonly check: Pick<CheckUpdate, 'noteLabels' | 'noted'>;
  readonly gate: DeviceGate;
};

/** Handlers for the addresses of one updater, at which devices ask for themselves, not for a slice. */
export class DeviceRoute<Item extends Candidate> extends DirectRoute {
  private readonly check: DeviceRouteDependencies['check'];
  private readonly question: DeviceQuestion<Item>;
  private readonly gate: DeviceGate;
  /** Cached queries by path and variant: they need no parsing, and have the index of their plan. */
  private readonly queries = new GenerationalCache<CheckQuery<Item>>(PATHS_MAX);
  /** Parsed query strings by text: they need no parsing again, and have the tag of their labels. */
  private readonly asked = new GenerationalCache<RequestQuery>(QUERY_TEXTS_MAX);
  private readonly waitingRoute: WaitingRoute<Item>;
  /** Mistaken id of the latest request; undefined if it has none. */
  private mistake: MistakenId | undefined;

  constructor(question: DeviceQuestion<Item>, dependencies: DeviceRouteDependencies) {
    super(question.route, dependencies.traffic);
    this.check = dependencies.check;
    this.question = question;
    this.gate = dependencies.gate;
    this.waitingRoute = { ...dependencies, question, replies: this.replies };
  }

  protected override serve(request: DeviceRequest, req: HttpRequest): void {
    const { question, check } = this;
    const queryText = req.getQuery();
    let asked = EMPTY_QUERY;
    // Answered below, after the limit: a client above the limit gets 429 even if its request is invalid.
    let refusal: Failure | undefined;
    if (queryText !== undefined) {
      const read = this.readQuery(queryText);
      if (isFailure(read)) refusal = read;
      else asked = read;
    }
    const id = this.readDeviceId(req, asked);
    const hash = id === undefined ? undefined : hashText(id);
    const wait = this.gate.now(request.res, req, id, hash);
    if (wait > ADMITTED) return this.refuse(request, refusalOf(wait));
    const hasAgent =
      question.agent !== '' && req.getHeader('user-agent').startsWith(question.agent);
    const key = keyOf(request.path, asked, hasAgent);
    let query = this.queries.get(key);
    if (query === undefined) {
      const parsed = this.newQuery(request.path, key, { parameters: asked.parameters, hasAgent });
      if (isFailure(parsed)) return this.refuseAfter(request, wait, parsed);
      query = parsed;
    }
    if (refusal !== undefined) return this.refuseAfter(request, wait, refusal);
    const { network } = this.gate;
    const { labels, labelsTag } = asked;
    const device = { id, hash, labels, labelsTag, network, mistake: this.mistake };
    const ifNoneMatch = question.isConditional ? req.getHeader('if-none-match') : '';
    if (wait === ADMITTED) {
      const decision = check.now(query, device, this.gate.readMs);
      if (decision !== undefined) {
        const waiting = question.ready?.(decision);
        if (waiting === undefined)
          return this.write(request, question.reply(decision, ifNoneMatch));
        return this.writeAfter(request, waiting, decision, ifNoneMatch);
      }
      const refusal = check.refused(query);
      if (refusal !== undefined) return this.refuse(request, refusal);
    }
    this.decideLater(request, wait, query, device, ifNoneMatch);
  }

  /** Returns the id of the device that asks; else sets `mistake` if the request has a mistaken id. */
  private readDeviceId(req: HttpRequest, { deviceId, mistake }: RequestQuery): string | undefined {
    this.mistake = mistake;
    const { deviceHeader, otherDeviceHeaders } = this.question;
    const id = this.idIn(req.getHeader(deviceHeader)) ?? deviceId;
    if (id !== undefined) return id;
    for (let index = 0; index < otherDeviceHeaders.length; index++) {
      const other = this.idIn(req.getHeader(otherDeviceHeaders[index] as string));
      if (other !== undefined) return other;
    }
    return undefined;
  }

  private idIn(header: string): string | undefined {
    if (header === '') return undefined;
    // ASCII needs no decoding. The test costs nothing extra, because hashing the id needs the same words.
    const isPlain = header.length <= LIMIT.deviceIdLengthMax && utf8WordsOf(header).isAscii;
    const text = isPlain ? header : readDeviceText(header);
    if (text === undefined || isFoldedAway(text)) return undefined;
    const mistake = mistakenIdIn(text);
    if (mistake === undefined) return text;
    this.mistake = mistake;
    return undefined;
  }

  /** Decides and answers a check that has to wait. */
  private decideLater(
    request: DeviceRequest,
    wait: number,
    query: CheckQuery<Item>,
    { id, hash, labels, labelsTag, network, mistake }: CheckDevice,
    ifNoneMatch: string,
  ): void {
    // A copy, because the gate overwrites its array with the next request's network. Without a spread, which
    // would take longer than all else in this function.
    const device = { id, hash, labels, labelsTag, network: network.slice(), mistake };
    const asked = { query, device, ifNoneMatch };
    if (this.replies.isWatched) this.decideWatched(request, wait, asked);
    else new WaitingCheck(this.waitingRoute, request, asked).begin(wait === MUST_SETTLE);
  }

  /** Does what `WaitingCheck` does, but with promises, which the context of the request's span follows. */
  private decideWatched(
    request: DeviceRequest,
    wait: number,
    { query, device, ifNoneMatch }: WaitingQuestion<Item>,
  ): void {
    this.answerAfter(request, wait, async () => {
      const outcome = await this.check.later(query, device);
      if (isFailure(outcome)) return refusalReply(outcome);
      await this.question.ready?.(outcome);
      return this.question.reply(outcome, ifNoneMatch);
    });
  }

  /**
   * Answers with a decision whose document is not written yet. This is not in `serve`, because a function
   * that contains a closure pays for it in every call.
   */
  private writeAfter(
    request: DeviceRequest,
    waiting: Promise<void>,
    decision: PlanDecision<Item>,
    ifNoneMatch: string,
  ): void {
    this.answerAfter(request, ADMITTED, async () => {
      await waiting;
      return this.question.reply(decision, ifNoneMatch);
    });
  }

  private newQuery(path: string, key: string, client: AskingClient): Outcome<CheckQuery<Item>> {
    const query = this.question.parse(path, client);
    if (!isFailure(query)) this.queries.keep(key, query);
    return query;
  }

  private readQuery(queryText: string): Outcome<RequestQuery> {
    const known = this.asked.get(queryText);
    if (known !== undefined) return known;
    const read = readRequestQuery(queryText, this.question);
    // Only one device sends a query with its own id, so such a query is not cached.
    if (!isFailure(read) && read.deviceId === undefined) this.asked.keep(queryText, read);
    return read;
  }

  private refuseAfter(request: DeviceRequest, wait: number, failure: Failure): void {
    if (wait === ADMITTED) this.refuse(request, failure);
    else this.answerAfter(request, wait, () => refusalReply(failure));
  }

  /** Answers with the reply of `work`, if the device limit admits the request. */
  private answerAfter(
    request: DeviceRequest,
    wait: number,
    work: () => Reply | Promise<Reply>,
  ): void {
    // Called at once, because the gate remembers only the latest request.
    const admitted = wait === MUST_SETTLE ? this.gate.later() : undefined;
    this.answerLater(request, async () => {
      const seconds = admitted === undefined ? ADMITTED : await admitted;
      return seconds === ADMITTED ? work() : refusalReply(refusalOf(seconds));
    });
  }
}

/** Returns the key by which the query of a request is cached: usually the path alone. */
function keyOf(path: string, { variant }: RequestQuery, hasAgent: boolean): string {
  if (variant === '' && !hasAgent) return path;
  return hasAgent ? path + AGENT_VARIANT + variant : path + variant;
}
