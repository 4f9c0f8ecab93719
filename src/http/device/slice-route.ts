// Route of decisions that caches can store (`/c/…`). A client asks for a slice of the fleet, which it
// computes from its own id, instead of for itself: so one answer serves a hundredth of the devices on the
// same version and machine, and a cache in front asks once for all of them (docs/contract.md 28).
//
// The device is unknown, so there are no check-ins, no labels, and no limit by device or IP address. Only the
// number of requests that wait for a store is limited; all others are answered before the next one is read.

import { fail, failUntil, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import type { ArtifactCandidate } from '../../domain/decision/catalog.ts';
import { SLICES } from '../../domain/decision/cohort.ts';
import { NETWORK_WORDS } from '../../domain/fleet/network-words.ts';
import type { CheckQuery, PlanDecision } from '../../serving/catalog-slot.ts';
import type { CheckDevice } from '../../serving/check-update.ts';
import { MANIFEST, manifestOf } from '../../updater/manifest.ts';
import type { HttpRequest } from '../transport/http-app.ts';
import { failureReply, type Reply, replyHead, tagBody } from '../transport/reply.ts';
import type { DeviceRequest } from './device-question.ts';
import type { DecisionRouteDependencies } from './device-route.ts';
import { DirectRoute } from './direct-route.ts';
import { GenerationalCache } from './generational-cache.ts';
import { refusalReply } from './refusal-reply.ts';
import { EMPTY_QUERY, keepPlus } from './request-query.ts';
import { UpdaterAddresses, type UpdaterRoute, writeConditional } from './updater-route.ts';

const PATH = '/c/:appRef/:channel/:platform/:arch/:version/:slice';
/** Part of the path with the same parameters as in update checks (`/u`), which the same code parses. */
const CHECK_PATH = '/c/:appRef/:channel/:platform/:arch/:version';
const SLICE = /^\d{1,2}$/;
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

/** Maximum number of cached questions by address; bounded, because clients choose addresses. */
const QUESTIONS_MAX = 50_000;
/** Maximum number of requests that wait for a store, per process. */
const WAITING_MAX = 1000;
/** Time after which a client that was refused because of `WAITING_MAX` may ask again. */
const RETRY_MS = 1000;

/**
 * Headers by which shared caches store an answer for 30 s, may serve it for another 30 s while they
 * revalidate it, and for 10 minutes while this service is unavailable. Clients must revalidate each use.
 */
const CACHEABLE = [
  [
    'Cache-Control',
    'public, max-age=0, s-maxage=30, stale-while-revalidate=30, stale-if-error=600',
  ],
] as const;
/** A 204 has an entity tag as well: a cache that revalidates it gets 204 again. */
const NOTHING: Reply = {
  status: 204,
  head: replyHead(204, [...CACHEABLE, ['ETag', tagBody(Buffer.alloc(0)).etag]]),
};

/** Devices by slice: each stands for all devices of its slice. */
const DEVICES: readonly CheckDevice[] = Array.from({ length: SLICES }, (_, slice) => ({
  id: undefined,
  hash: undefined,
  labels: EMPTY_QUERY.labels,
  labelsTag: EMPTY_QUERY.labelsTag,
  network: new Int32Array(NETWORK_WORDS),
  slice,
}));

type SliceQuestion = {
  readonly query: CheckQuery<ArtifactCandidate>;
  readonly device: CheckDevice;
};

/** Builds the route, which bypasses the router as those of updaters do. */
export function sliceRoute(dependencies: DecisionRouteDependencies): UpdaterRoute {
  const route = new SliceRoute(dependencies);
  return {
    pattern: route.pattern,
    handlers: route,
    placeholder: { method: 'GET', path: PATH, handler: () => failureReply(fail('notFound')) },
  };
}

/** Handlers for the addresses of slices. */
class SliceRoute extends DirectRoute {
  private readonly addresses = new UpdaterAddresses({ ...MANIFEST, path: CHECK_PATH });
  /** Cached questions by address and query: they need no parsing, and have the index of their plan. */
  private readonly questions = new GenerationalCache<SliceQuestion>(QUESTIONS_MAX);
  private readonly writeManifest = writeConditional(MANIFEST.mediaType, CACHEABLE);
  private readonly check: DecisionRouteDependencies['check'];
  private waitingCount = 0;

  constructor({ check, traffic }: DecisionRouteDependencies) {
    super(PATH, traffic);
    this.check = check;
  }

  get pattern() {
    return this.addresses.pattern;
  }

  protected override serve(request: DeviceRequest, req: HttpRequest): void {
    const question = this.questionOf(request.path, req.getQuery() ?? '');
    if (isFailure(question)) return this.refuse(request, question);
    const { query, device } = question;
    const ifNoneMatch = req.getHeader('if-none-match');
    const decision = this.check.now(query, device);
    if (decision !== undefined) return this.writeDecision(request, decision, ifNoneMatch);
    const refusal = this.check.refused(query) ?? this.refuseWaiting();
    if (refusal !== undefined) return this.refuse(request, refusal);
    this.decideLater(request, question, ifNoneMatch);
  }

  /** Decides and answers a request that has to wait for a cold channel, or for a release's first offer. */
  private decideLater(
    request: DeviceRequest,
    { query, device }: SliceQuestion,
    ifNoneMatch: string,
  ): void {
    this.waitingCount += 1;
    this.answerLater(request, async () => {
      try {
        const outcome = await this.check.later(query, device);
        return isFailure(outcome) ? refusalReply(outcome) : this.reply(outcome, ifNoneMatch);
      } finally {
        this.waitingCount -= 1;
      }
    });
  }

  private refuseWaiting() {
    return this.waitingCount < WAITING_MAX ? undefined : failUntil('unavailable', RETRY_MS);
  }

  private writeDecision(
    request: DeviceRequest,
    decision: PlanDecision<ArtifactCandidate>,
    ifNoneMatch: string,
  ): void {
    this.answer(request, this.reply(decision, ifNoneMatch));
  }

  private reply({ plan, candidate }: PlanDecision<ArtifactCandidate>, ifNoneMatch: string): Reply {
    return candidate === undefined
      ? NOTHING
      : this.writeManifest(manifestOf(plan, candidate), ifNoneMatch);
  }

  /** Returns the question of an address and query; 404 if the address does not match, 400 for wrong parts. */
  private questionOf(path: string, queryText: string): Outcome<SliceQuestion> {
    const key = queryText === '' ? path : `${path} ${queryText}`;
    const known = this.questions.get(key);
    if (known !== undefined) return known;
    const end = path.lastIndexOf('/');
    const parameters = readParameters(queryText);
    const query = this.addresses.read(path.slice(0, end), {
      parameters: isFailure(parameters) ? NO_PARAMETERS : parameters,
      hasAgent: false,
    });
    if (isFailure(query)) return query;
    if (isFailure(parameters)) return parameters;
    const device = DEVICES[readSlice(path.slice(end + 1))];
    if (device === undefined) return invalidField('slice', `Must be 0 to ${SLICES - 1}`);
    const question = { query, device };
    this.questions.keep(key, question);
    return question;
  }
}

/** Returns the slice that a segment names, without leading zeros; -1 if it names none. */
function readSlice(segment: string): number {
  const slice = SLICE.test(segment) ? Number(segment) : -1;
  return String(slice) === segment ? slice : -1;
}

/** Reads the query, which may have only `bundle`: each other parameter would make further cache entries. */
function readParameters(queryText: string): Outcome<ReadonlyMap<string, string>> {
  if (queryText === '') return NO_PARAMETERS;
  const entries = [...new URLSearchParams(`&${keepPlus(queryText)}`)];
  const [first] = entries;
  if (entries.length !== 1 || first?.[0] !== 'bundle') {
    return invalidField('query', 'May hold one `bundle` and nothing else');
  }
  return new Map([first]);
}
