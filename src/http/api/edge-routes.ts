// Routes for edges (docs/contract.md 29). The guard checks the token and signs each answer.

import { z } from 'zod';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
  type EdgeAnswer,
  NONCE,
} from '../../contract/edge.ts';
import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { CheckIn } from '../../domain/fleet/check-in.ts';
import { readBatches } from '../../domain/fleet/check-in-payload.ts';
import type { EdgeAhead } from '../../edge/server/edge-ahead.ts';
import type { EdgeDevices } from '../../edge/server/edge-devices.ts';
import type { EdgeIndex } from '../../edge/server/edge-index.ts';
import type { EdgeSnapshots } from '../../edge/server/edge-snapshots.ts';
import type { AuthenticateEdge, Edge, EdgeSigner } from '../../edge/server/edge-tokens.ts';
import { nameField, textField, wholeField } from '../endpoint/field.ts';
import { parseBody, parseQuery } from '../endpoint/parse-shape.ts';
import { bearerToken, type Exchange, type Handler } from '../transport/exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';

type EdgeRouteDependencies = Omit<EdgeGuardDependencies, 'record'> & {
  readonly index: EdgeIndex;
  readonly ahead: EdgeAhead;
  readonly snapshots: EdgeSnapshots;
  readonly devices: EdgeDevices;
  /** Returns the ledger's time in milliseconds since 1970. */
  readonly now: () => number;
};

/** Maximum length of a proof: a nonce and up to eight signatures. */
const PROOF_LENGTH_MAX = 1024;
const ENTITY_TAG = /^"([\w-]{1,64})"$/;

const indexQuery = z.object({ wait: wholeField(0, LIMIT.edgeWaitMsMax, 0) });
const aheadBody = z.strictObject({
  proof: textField(PROOF_LENGTH_MAX),
  index: textField(LIMIT.edgeBodyBytesMax),
});
const orderField = z.strictObject({ epoch: z.int().min(0), revision: z.int().min(0) });
const snapshotBody = z.strictObject({
  app: nameField,
  channel: nameField,
  atLeast: orderField.optional(),
  known: z.array(nameField).max(LIMIT.channelReleasesMax * 2),
});
const releasesBody = z.strictObject({
  app: nameField,
  channel: nameField,
  editions: z.array(nameField).max(LIMIT.channelReleasesMax * 2),
});
const offerBody = z.strictObject({
  app: nameField,
  channel: nameField,
  state: orderField,
  release: nameField,
});

/** Builds the routes below `/edge/v1`. */
export function edgeRoutes(dependencies: EdgeRouteDependencies): readonly Route[] {
  const { index, ahead, snapshots, devices, now } = dependencies;
  const guard = createEdgeGuard({ ...dependencies, record: () => index.record() });
  return [
    ...edgeDeviceRoutes(guard, devices),
    get('index', guard, async ({ scope }, exchange) => {
      const query = parseQuery(exchange, indexQuery);
      if (isFailure(query)) return query;
      const [, heldTag] = ENTITY_TAG.exec(exchange.headers.get('if-none-match') ?? '') ?? [];
      return index.next(scope, heldTag, query.wait);
    }),
    {
      ...post('ahead', guard, aheadBody, ({ tokenId }, body) => ahead.settle(tokenId, body)),
      bodyBytesMax: LIMIT.edgeBodyBytesMax,
    },
    get('time', guard, async () => ({ kind: 'time', at: Math.floor(now()) })),
    post('snapshot', guard, snapshotBody, ({ scope }, { known, ...wanted }) =>
      snapshots.read(scope, { ...wanted, atLeast: wanted.atLeast }, known),
    ),
    post('releases', guard, releasesBody, ({ scope }, { editions, ...wanted }) =>
      snapshots.readReleases(scope, { ...wanted, atLeast: undefined }, editions),
    ),
    post('offer', guard, offerBody, ({ scope }, { release, state, ...wanted }) =>
      snapshots.offer(scope, { ...wanted, atLeast: state }, release),
    ),
  ];
}

function get(path: string, guard: EdgeGuard, work: EdgeWork): Route {
  return { method: 'GET', path: `/edge/v1/${path}`, handler: guard(work) };
}

/** Builds a POST route whose body must have a shape. */
function post<Body>(
  path: string,
  guard: EdgeGuard,
  shape: z.ZodType<Body>,
  work: (edge: Edge, body: Body) => ReturnType<EdgeWork>,
): Route {
  return {
    method: 'POST',
    path: `/edge/v1/${path}`,
    handler: guard(async (edge, exchange) => {
      const body = await parseBody(exchange, shape);
      return isFailure(body) ? body : work(edge, body);
    }),
  };
}

// Routes by which edges read labels of devices, and upload check-ins and failures (docs/contract.md 29).

const deviceIdField = textField(LIMIT.deviceIdLengthMax);
const labelsBody = z.strictObject({
  devices: z
    .array(z.strictObject({ appId: nameField, deviceId: deviceIdField }))
    .max(LIMIT.edgeDevicesMax),
});
const changesQuery = z.object({
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
});
const failuresBody = z.strictObject({
  failures: z
    .array(
      z.strictObject({
        appId: nameField,
        channel: nameField,
        deviceId: deviceIdField,
        runs: nameField.optional(),
        canonicalVersion: nameField,
        reason: textField(LIMIT.failureReasonLengthMax, 0).optional(),
        network: textField(64, 0).optional(),
      }),
    )
    .max(LIMIT.edgeDevicesMax),
});

/** Builds the routes for labels, check-ins and failures of devices. */
function edgeDeviceRoutes(guard: EdgeGuard, devices: EdgeDevices): readonly Route[] {
  return [
    post('labels', guard, labelsBody, ({ scope }, body) => devices.readLabels(scope, body.devices)),
    get('label-changes', guard, async ({ scope }, exchange) => {
      const query = parseQuery(exchange, changesQuery);
      return isFailure(query) ? query : devices.readLabelChanges(scope, query.after);
    }),
    postCheckIns('check-ins', guard, ({ scope }, checkIns) => devices.take(scope, checkIns)),
    postCheckIns('check-ins/awaited', guard, ({ scope }, checkIns) =>
      devices.record(scope, checkIns),
    ),
    {
      ...post('failures', guard, failuresBody, ({ scope }, body) => {
        const failures = body.failures.map(({ runs, reason, network, ...each }) => ({
          ...each,
          ...{ runs, reason, network },
        }));
        return devices.reportFailures(scope, failures);
      }),
      bodyBytesMax: LIMIT.edgeFailuresBytesMax,
    },
  ];
}

function postCheckIns(
  path: string,
  guard: EdgeGuard,
  work: (edge: Edge, checkIns: readonly CheckIn[]) => ReturnType<EdgeWork>,
): Route {
  return {
    ...{ method: 'POST', path: `/edge/v1/${path}`, bodyBytesMax: LIMIT.edgeBodyBytesMax },
    handler: guard(async (edge, exchange) => {
      const checkIns = await readCheckIns(exchange);
      return isFailure(checkIns) ? checkIns : work(edge, checkIns);
    }),
  };
}

/** Reads the check-ins of a body; 400 names the first malformed batch. */
async function readCheckIns(exchange: Exchange): Promise<Outcome<readonly CheckIn[]>> {
  const body = await exchange.body;
  if (isFailure(body)) return body;
  const checkIns: CheckIn[] = [];
  let number = 0;
  for (const batch of readBatches(body)) {
    if (batch === undefined) return invalidField(`batches.${number}`, 'Malformed check-ins');
    // One by one, because the arguments of a single `push` might not fit on the stack.
    for (const checkIn of batch) checkIns.push(checkIn);
    number += 1;
  }
  return checkIns;
}

// Guard of the endpoints for edges: authenticates the edge (401), refuses one that follows another record
// (409), and signs every answer to an edge, refusals and 304 included.

type EdgeGuardDependencies = {
  readonly edges: AuthenticateEdge;
  /** Undefined without SECRET_KEY: then no edge can follow. */
  readonly signer: EdgeSigner | undefined;
  /** Returns the name of this service's record; null if it has none yet. */
  readonly record: () => Promise<string | null>;
};

/** Work that answers an edge; undefined stands for 304. */
type EdgeWork = (edge: Edge, exchange: Exchange) => Promise<Outcome<EdgeAnswer | undefined>>;

type EdgeGuard = (work: EdgeWork) => Handler;

/** Milliseconds of work after which the guard authenticates the edge again. */
const WAITED_MS = 500;

/** Builds the guard, which wraps the work of an endpoint into its handler. */
export function createEdgeGuard({ edges, signer, record }: EdgeGuardDependencies): EdgeGuard {
  return (work) => async (exchange) => {
    const edge = await edges.authenticate(bearerToken(exchange));
    if (isFailure(edge)) return strangerReply(edge, exchange);
    if (signer === undefined) return failureReply(fail('edgesNeedSecretKey'));
    const followed = exchange.headers.get(EDGE_RECORD_HEADER);
    if (followed !== undefined && followed !== (await record())) {
      return signed(signer, nonceOf(exchange), failureReply(fail('otherRecord')));
    }
    const beganAt = performance.now();
    const answer = await work(edge, exchange);
    if (answer !== undefined && performance.now() - beganAt > WAITED_MS) {
      // The token may have been revoked meanwhile: then the edge must not get the answer.
      const still = await edges.authenticate(bearerToken(exchange));
      if (isFailure(still)) return strangerReply(still, exchange);
    }
    return signed(signer, nonceOf(exchange), replyOf(answer));
  };
}

function strangerReply(refusal: Failure, { notes }: Exchange): Reply {
  notes.add(['WWW-Authenticate', 'Bearer']);
  return failureReply(refusal);
}

/** Returns the nonce of an edge's call; '' if it is absent or malformed. */
function nonceOf({ headers }: Exchange): string {
  const nonce = headers.get(EDGE_NONCE_HEADER) ?? '';
  return NONCE.test(nonce) ? nonce : '';
}

function replyOf(answer: Outcome<EdgeAnswer | undefined>): Reply {
  if (isFailure(answer)) return failureReply(answer);
  if (answer === undefined) return { status: 304, headers: NO_STORE };
  const tag: readonly HeaderPair[] = answer.kind === 'index' ? [['ETag', `"${answer.tag}"`]] : [];
  const body = Buffer.from(JSON.stringify(answer));
  return { status: 200, contentType: 'application/json', headers: [...NO_STORE, ...tag], body };
}

function signed(signer: EdgeSigner, nonce: string, reply: Reply): Reply {
  const signatures = signer.sign(nonce, reply.status, Buffer.from(reply.body ?? ''));
  return { ...reply, headers: [...(reply.headers ?? []), [EDGE_SIGNATURE_HEADER, signatures]] };
}
