// Route of an updater, built from the description of its protocol: GET and HEAD below the first segment of
// its path.

import { fail, isFailure } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import type { Plan } from '../../domain/decision/plan.ts';
import type { PlanDecision } from '../../serving/catalog-slot.ts';
import type { Updater } from '../../updater/updater.ts';
import { conditionalReply, type TaggedBody, tagBody } from '../conditional.ts';
import { failureReply, NO_STORE, type Reply, replyHead } from '../reply.ts';
import type { Route } from '../router.ts';
import type { RequestHandler } from '../server.ts';
import type { AddressPattern } from './address-pattern.ts';
import {
  type DeviceQuestion,
  DeviceRoute,
  type DeviceRouteDependencies,
  refusalReply,
} from './device-route.ts';
import { UpdaterAddresses } from './updater-addresses.ts';
import { WatchedDeviceRoute } from './watched-device-route.ts';

type WriteDocument = (document: Buffer, ifNoneMatch: string) => Reply;

const DEVICE_HEADER = 'x-service-device';
const NO_CONTENT: Reply = { status: 204, head: replyHead(204, NO_STORE) };
/**
 * Headers of documents with an entity tag. Such a document is for one device: its client may keep it, but has
 * to ask whether it is still valid.
 */
const CONDITIONAL_HEADERS = [
  ['Cache-Control', 'private, no-cache'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

export type UpdaterRoute = {
  readonly pattern: AddressPattern;
  /** Handlers of GET and HEAD below the prefix, which are called without the router. */
  readonly handlers: { readonly get: RequestHandler; readonly head: RequestHandler };
  /** Entry for the addresses in the router, so that other methods are 405; its handler is never called. */
  readonly placeholder: Route;
};

/** Builds the route of an updater. */
export function updaterRoute<Item extends Candidate, Name extends string>(
  updater: Updater<Item, Name>,
  dependencies: DeviceRouteDependencies,
): UpdaterRoute {
  const {
    path,
    deviceHeaders,
    deviceParameter,
    parameters = [],
    agent = '',
    isConditional,
  } = updater;
  const addresses = new UpdaterAddresses(updater);
  const question: DeviceQuestion<Item> = {
    route: path,
    parse: (asked, client) => addresses.read(asked, client),
    deviceHeader: DEVICE_HEADER,
    deviceParameter,
    otherDeviceHeaders: deviceHeaders,
    parameters,
    agent,
    isConditional,
    ready: readyOf(updater),
    reply: replyOf(updater),
  };
  return {
    pattern: addresses.pattern,
    handlers: dependencies.traffic.isWatched('device')
      ? new WatchedDeviceRoute(question, dependencies)
      : new DeviceRoute(question, dependencies),
    placeholder: { method: 'GET', path, handler: () => failureReply(fail('notFound')) },
  };
}

/** Returns the function that waits for what a decision's document is made of, if the updater has one. */
function readyOf<Item extends Candidate>({
  ready,
}: Pick<Updater<Item, never>, 'ready'>): DeviceQuestion<Item>['ready'] {
  if (ready === undefined) return undefined;
  return ({ plan, candidate }) => (candidate === undefined ? undefined : ready(plan, candidate));
}

/** Returns the function that writes decisions in the form that the updater's clients read. */
export function replyOf<Item extends Candidate>({
  mediaType,
  isConditional,
  offer,
  nothing,
}: Pick<
  Updater<Item, never>,
  'mediaType' | 'isConditional' | 'offer' | 'nothing'
>): DeviceQuestion<Item>['reply'] {
  const write = isConditional ? writeConditional(mediaType) : writeFresh(mediaType);
  const writeNothing = withoutOffer(nothing, write);
  return ({ plan, candidate }: PlanDecision<Item>, ifNoneMatch) =>
    candidate === undefined
      ? writeNothing(plan, ifNoneMatch)
      : write(offer(plan, candidate), ifNoneMatch);
}

function withoutOffer<Item extends Candidate>(
  nothing: Updater<Item, never>['nothing'],
  write: WriteDocument,
): (plan: Plan<Item>, ifNoneMatch: string) => Reply {
  if (nothing === 'no-content') return () => NO_CONTENT;
  if (isFailure(nothing)) return () => refusalReply(nothing);
  return (plan, ifNoneMatch) => write(nothing(plan), ifNoneMatch);
}

/** Returns the function that writes documents which no cache may keep. */
function writeFresh(mediaType: string): WriteDocument {
  const head = replyHead(200, [...NO_STORE, ['Content-Type', mediaType]]);
  return (body) => ({ status: 200, head, body });
}

/**
 * Returns the function that writes documents with an entity tag. The tag of a document is cached as long as
 * the document exists, which saves hashing it for every check.
 */
function writeConditional(mediaType: string): WriteDocument {
  const tagged = new WeakMap<Buffer, TaggedBody>();
  return (document, ifNoneMatch) => {
    const body = tagged.get(document) ?? tagBody(document);
    tagged.set(document, body);
    return conditionalReply(ifNoneMatch, body, mediaType, CONDITIONAL_HEADERS);
  };
}
