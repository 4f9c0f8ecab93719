// Route of decisions that a cache can keep (`/c/…`). A client asks for a slice of the fleet, which it works
// out from its own id, and not for itself: so one answer serves a hundredth of the devices on the same
// version and machine, and a cache in front asks once for all of them (docs/contract.md 28).
//
// No device is known here, hence no check-in, no labels, and no limit by device or address. What is limited
// is the number of requests that wait for a store; all others are answered before the next one is read.

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
import { DecisionRoute, type DecisionRouteDependencies } from './device-route.ts';
import { GenerationalCache } from './generational-cache.ts';
import { refusalReply } from './refusal-reply.ts';
import { EMPTY_QUERY, keepPlus } from './request-query.ts';
import { UpdaterAddresses, type UpdaterRoute, writeConditional } from './updater-route.ts';

const PATH = '/c/:appRef/:channel/:platform/:arch/:version/:slice';
/** Part of the path that update checks (`/u`) have as well, and that is read as theirs is. */
const CHECK_PATH = '/c/:appRef/:channel/:platform/:arch/:version';
const SLICE = /^\d{1,2}$/;
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

/** Maximum number of cached questions by address. Clients choose addresses, hence a bound. */
const QUESTIONS_MAX = 50_000;
/** Maximum number of requests of a process that wait for a store. */
const WAITING_MAX = 1000;
/** Time after which a client may ask again that was one too many. */
const RETRY_MS = 1000;

/**
 * Headers that let shared caches keep an answer for half a minute, serve it for as long again while they
 * renew it, and for ten minutes while this service cannot be asked; clients themselves keep nothing.
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

/** Stand-ins for the devices of all slices, by slice: a slice is asked for in place of a device. */
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

/** Builds the route. It is served as those of updaters are: without the router. */
export function sliceRoute(dependencies: DecisionRouteDependencies): UpdaterRoute {
  const route = new SliceRoute(dependencies);
  return {
    pattern: route.pattern,
    handlers: route,
    placeholder: { method: 'GET', path: PATH, handler: () => failureReply(fail('notFound')) },
  };
}

/** Handlers for the addresses of slices. */
class SliceRoute extends DecisionRoute {
  private readonly addresses = new UpdaterAddresses({ ...MANIFEST, path: CHECK_PATH });
  /** Cached questions by address and query. They save reading them, and keep the index of their plan. */
  private readonly questions = new GenerationalCache<SliceQuestion>(QUESTIONS_MAX);
  private readonly writeManifest = writeConditional(MANIFEST.mediaType, CACHEABLE);
  private waitingCount = 0;

  constructor(dependencies: DecisionRouteDependencies) {
    super(PATH, dependencies);
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

  /** Decides and answers a request that has to wait: for a cold channel, or a release's first offer. */
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
    const reply = this.reply(decision, ifNoneMatch);
    this.write(request, reply);
    this.replies.count(reply.status);
  }

  private reply({ plan, candidate }: PlanDecision<ArtifactCandidate>, ifNoneMatch: string): Reply {
    return candidate === undefined
      ? NOTHING
      : this.writeManifest(manifestOf(plan, candidate), ifNoneMatch);
  }

  /** Returns what an address and a query ask; 404 when the address has another form, else 400. */
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

/** Returns the slice that a segment names in its one spelling; -1 when it names none. */
function readSlice(segment: string): number {
  const slice = SLICE.test(segment) ? Number(segment) : -1;
  return String(slice) === segment ? slice : -1;
}

/** Reads the query, which may hold `bundle` and nothing else: all that it holds makes another cache entry. */
function readParameters(queryText: string): Outcome<ReadonlyMap<string, string>> {
  if (queryText === '') return NO_PARAMETERS;
  const entries = [...new URLSearchParams(`&${keepPlus(queryText)}`)];
  const [first] = entries;
  if (entries.length !== 1 || first?.[0] !== 'bundle') {
    return invalidField('query', 'May hold one `bundle` and nothing else');
  }
  return new Map([first]);
}
