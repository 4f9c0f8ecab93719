// Route of an updater, built from the description of its protocol: GET and HEAD below the first segment of
// its path.

import { fail, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import type { Plan } from '../../domain/decision/plan.ts';
import { parseVersion, type Version } from '../../domain/decision/version.ts';
import {
  type CheckQuery,
  type CheckScope,
  checkQuery,
  checkScope,
  type PlanDecision,
} from '../../serving/catalog-slot.ts';
import type { AskingClient, Updater } from '../../updater/updater.ts';
import type { RequestHandler } from '../transport/http-app.ts';
import {
  conditionalReply,
  failureReply,
  type HeaderPair,
  NO_STORE,
  type Reply,
  replyHead,
  type TaggedBody,
  tagBody,
} from '../transport/reply.ts';
import { decodeSegment, type Route } from '../transport/router.ts';
import type { DeviceQuestion } from './device-question.ts';
import { DeviceRoute, type DeviceRouteDependencies } from './device-route.ts';
import { GenerationalCache } from './generational-cache.ts';
import { refusalReply } from './refusal-reply.ts';

type WriteDocument = (document: Buffer, ifNoneMatch: string) => Reply;

const DEVICE_HEADER = 'x-service-device';
const NO_CONTENT: Reply = { status: 204, head: replyHead(204, NO_STORE) };
/**
 * Headers of documents with an entity tag. Such a document is for one device: only its client may store it,
 * and must revalidate it before each use.
 */
const CONDITIONAL_HEADERS = [
  ['Cache-Control', 'private, no-cache'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

export type UpdaterRoute = {
  readonly pattern: AddressPattern;
  /** Handlers of GET and HEAD below the prefix, which bypass the router. */
  readonly handlers: { readonly get: RequestHandler; readonly head: RequestHandler };
  /** Entry in the router, so that other methods get 405; its handler is never called. */
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
    handlers: new DeviceRoute(question, dependencies),
    placeholder: { method: 'GET', path, handler: () => failureReply(fail('notFound')) },
  };
}

/** Returns the function that waits until a decision's document can be written, if the updater has one. */
function readyOf<Item extends Candidate>({
  ready,
}: Pick<Updater<Item, never>, 'ready'>): DeviceQuestion<Item>['ready'] {
  if (ready === undefined) return undefined;
  return ({ plan, candidate }) => (candidate === undefined ? undefined : ready(plan, candidate));
}

/** Returns the function that writes decisions in the format of the updater. */
export function replyOf<Item extends Candidate>({
  mediaType,
  isConditional,
  offer,
  nothing,
}: Pick<
  Updater<Item, never>,
  'mediaType' | 'isConditional' | 'offer' | 'nothing'
>): DeviceQuestion<Item>['reply'] {
  const write = isConditional
    ? writeConditional(mediaType, CONDITIONAL_HEADERS)
    : writeFresh(mediaType);
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

/** Returns the function that writes documents which no cache may store. */
function writeFresh(mediaType: string): WriteDocument {
  const head = replyHead(200, [...NO_STORE, ['Content-Type', mediaType]]);
  return (body) => ({ status: 200, head, body });
}

/**
 * Returns the function that writes documents with an entity tag. The tag is cached as long as the document
 * exists, so that not every check hashes the document.
 */
export function writeConditional(mediaType: string, headers: readonly HeaderPair[]): WriteDocument {
  const tagged = new WeakMap<Buffer, TaggedBody>();
  return (document, ifNoneMatch) => {
    const body = tagged.get(document) ?? tagBody(document);
    tagged.set(document, body);
    return conditionalReply(ifNoneMatch, body, mediaType, headers);
  };
}

// Reading of the addresses that an updater's clients request. Devices of a fleet run many versions on few
// platforms and arches, so the part of an address before the version is parsed once, and cached as a scope.

/** Maximum number of cached scopes; bounded, because clients choose the addresses. */
const SCOPES_MAX = 10_000;
const VERSION = 'version';

export class UpdaterAddresses<Item extends Candidate, Name extends string> {
  readonly pattern: AddressPattern;
  /**
   * Cached scopes by the part of an address before the version, the parameters and the agent. A version that
   * is seen for the first time needs no parsing of that part, and all versions share one scope.
   */
  private readonly scopes = new GenerationalCache<CheckScope<Item>>(SCOPES_MAX);

  constructor(private readonly updater: Updater<Item, Name>) {
    this.pattern = new AddressPattern(updater.path);
  }

  /** Returns the query of an address; 404 if it does not match, 400 that names a wrong part. */
  read(path: string, client: AskingClient): Outcome<CheckQuery<Item>> {
    const parts = this.pattern.split(path);
    return parts === undefined ? fail('notFound') : this.query(parts, client);
  }

  private query(
    { stem, version: text }: AddressParts,
    client: AskingClient,
  ): Outcome<CheckQuery<Item>> {
    const key = keyOf(stem, client);
    const scope = this.scopes.get(key) ?? this.newScope(stem, key, client);
    if (isFailure(scope)) return scope;
    const version = text === undefined ? scope.version : readVersion(text);
    return isFailure(version) ? version : checkQuery(scope, version);
  }

  private newScope(stem: string, key: string, client: AskingClient): Outcome<CheckScope<Item>> {
    const segments = this.pattern.read(stem);
    if (isFailure(segments)) return segments;
    const { appRef = '', channel = '' } = segments;
    // `segments` has exactly the names that the updater's path has.
    const named = segments as Record<Name | 'channel', string>;
    const question = this.updater.ask(named, client);
    if (isFailure(question)) return question;
    const scope = checkScope(appRef, channel, question);
    scope.isKept = this.scopes.keep(key, scope);
    return scope;
  }
}

/** Returns the key of a scope. A path contains no space, so the key equals no other path. */
function keyOf(stem: string, { parameters, hasAgent }: AskingClient): string {
  if (parameters.size === 0) return hasAgent ? `${stem} ` : stem;
  return `${stem} ${hasAgent ? ' ' : ''}${JSON.stringify([...parameters].sort())}`;
}

function readVersion(segment: string): Outcome<Version> {
  const text = decodeSegment(segment);
  if (text === undefined) return invalidField(VERSION, 'Malformed percent-encoding');
  return parseVersion(text) ?? invalidField(VERSION, 'Invalid version');
}

// Pattern of an updater's addresses (`/e/:appRef/:channel/:file`): tells whether an address matches, and
// reads its parameters. A segment may have text around its parameter: `releases.:name.json`.

type Segment = {
  /** Text before the parameter, or the whole segment if it has none. */
  readonly before: string;
  /** Name of the parameter; undefined if the segment has none. */
  readonly name: string | undefined;
  readonly after: string;
};

/** Address in two parts, both still percent-encoded. */
type AddressParts = {
  /** Part of the address before its version: all that the scope depends on. */
  readonly stem: string;
  /** Version as written in the address; undefined in patterns without one. */
  readonly version: string | undefined;
};

const SEGMENT = /^([^:]*)(?::(\w+))?(.*)$/;
const ADDRESS_PATTERN_VERSION = '/:version';

class AddressPattern {
  /** First segment, with its slash. */
  readonly prefix: string;
  /** Whether every address with the right number of segments below the prefix matches. */
  readonly isPlain: boolean;
  /** Segments after the first, without the version and what follows it. */
  private readonly segments: readonly Segment[];
  private readonly hasVersion: boolean;
  /** Text after the version, with its slash; '' if there is none. */
  private readonly tail: string;

  constructor(pattern: string) {
    const [stem = '', tail = ''] = pattern.split(ADDRESS_PATTERN_VERSION);
    const [first = '', ...others] = stem.split('/').slice(1);
    this.prefix = `/${first}`;
    this.segments = others.map(segmentOf);
    this.hasVersion = stem !== pattern;
    this.tail = tail;
    this.isPlain =
      tail === '' && this.segments.every(({ before, after }) => before === '' && after === '');
  }

  /** Returns whether an address matches the pattern, with any values of its parameters. */
  fits(path: string): boolean {
    const parts = this.split(path);
    if (parts === undefined) return false;
    const texts = textsOf(parts.stem);
    return texts.length === this.segments.length && this.segments.every(hasForm(texts));
  }

  /** Splits an address at its version; undefined if its end does not match the pattern. */
  split(path: string): AddressParts | undefined {
    if (!this.hasVersion) return { stem: path, version: undefined };
    if (!path.endsWith(this.tail)) return undefined;
    const address = path.slice(0, path.length - this.tail.length);
    const end = address.lastIndexOf('/');
    if (end === address.length - 1) return undefined;
    return { stem: address.slice(0, end), version: address.slice(end + 1) };
  }

  /**
   * Returns the decoded parameters of a stem by name; 404 if it does not match the pattern or a parameter is
   * empty, 400 that names a parameter with malformed percent-encoding.
   */
  read(stem: string): Outcome<Record<string, string>> {
    const texts = textsOf(stem);
    if (texts.length !== this.segments.length || texts.includes('')) return fail('notFound');
    if (!this.segments.every(hasForm(texts))) return fail('notFound');
    const parameters: Record<string, string> = {};
    for (const [index, { before, name, after }] of this.segments.entries()) {
      if (name === undefined) continue;
      const text = texts[index] ?? '';
      const value = decodeSegment(text.slice(before.length, text.length - after.length));
      if (value === undefined) return invalidField(name, 'Malformed percent-encoding');
      if (value === '') return fail('notFound');
      parameters[name] = value;
    }
    return parameters;
  }
}

function segmentOf(text: string): Segment {
  const [, before = '', name, after = ''] = SEGMENT.exec(text) ?? [];
  return { before, name, after };
}

/** Returns the segments of a stem after the first. */
function textsOf(stem: string): readonly string[] {
  return stem.split('/').slice(2);
}

/** Returns a test whether the text at a segment's index matches the segment. */
function hasForm(texts: readonly string[]): (segment: Segment, index: number) => boolean {
  return ({ before, name, after }, index) => {
    const text = texts[index] ?? '';
    if (name === undefined) return text === before;
    const isLongEnough = text.length >= before.length + after.length;
    return isLongEnough && text.startsWith(before) && text.endsWith(after);
  };
}

// Handlers of the addresses of all updaters, by the first segment of their paths. They bypass the router.

type Handlers = UpdaterRoute['handlers'];

/**
 * Returns the handlers by prefix. If several updaters share a prefix, the first one whose pattern matches
 * handles the request; a request that matches none goes to the router.
 */
export function directHandlers(
  routes: readonly UpdaterRoute[],
): Readonly<Record<string, Handlers>> {
  const prefixes = new Set(routes.map(({ pattern }) => pattern.prefix));
  return Object.fromEntries(
    [...prefixes].map((each) => [
      each,
      handlersOf(routes.filter(({ pattern }) => pattern.prefix === each)),
    ]),
  );
}

function handlersOf(sharing: readonly UpdaterRoute[]): Handlers {
  const [first, ...others] = sharing;
  if (first === undefined) throw new Error('a prefix without an updater');
  return others.length === 0 && first.pattern.isPlain
    ? first.handlers
    : { get: choosing(sharing, 'get'), head: choosing(sharing, 'head') };
}

function choosing(sharing: readonly UpdaterRoute[], method: keyof Handlers): RequestHandler {
  return (res, req) => {
    const path = req.getUrl();
    const route = sharing.find(({ pattern }) => pattern.fits(path));
    if (route === undefined) req.setYield(true);
    else route.handlers[method](res, req);
  };
}
