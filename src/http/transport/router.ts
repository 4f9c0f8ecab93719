// Router of all requests that have no handler of their own (server.ts): finds the handler of a request among
// the declared routes, and answers 404 and 405 for paths and methods that have none.

import { fail, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Surface } from '../../observe/route-counts.ts';
import { type BodyLimit, type Handler, runExchange } from './exchange.ts';
import type { HttpRequest, HttpResponse } from './http-app.ts';
import { failureReply, NO_STORE } from './reply.ts';
import type { RouteTraffic, Traffic } from './request-observation.ts';

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /**
   * Path pattern. Segments that begin with `:` are parameters: `/console/api/keys/:id/revoke`. A last segment
   * `*` matches every path below it that no route without `*` matches; the longest such pattern counts.
   */
  readonly path: string;
  readonly handler: Handler;
  /**
   * Whether a write has a dry run (`?dryRun=true`). If not, it refuses the parameter, and writes nothing;
   * `ignored`: its clients know no dry runs, and their queries say nothing.
   */
  readonly hasDryRun?: true | 'ignored';
  /** Maximum size of a body; `LIMIT.bodyBytesMax` by default. */
  readonly bodyBytesMax?: number;
  /** Time for a whole body; `LIMIT.bodyMsMax` by default. */
  readonly bodyMsMax?: number;
  /** Memory budget for bodies that are being received; `credentialed` by default. */
  readonly bodyBudget?: BodyLimit['budget'];
};

const TAIL = '*';
const NO_PARAMS: ReadonlyMap<string, string> = new Map();

/** Surfaces by the first segment of a path. */
const SURFACES: Readonly<Record<string, Surface>> = {
  u: 'device',
  c: 'device',
  e: 'device',
  squirrel: 'device',
  velopack: 'device',
  sparkle: 'device',
  download: 'device',
  ddi: 'device',
  feed: 'feed',
  api: 'management',
  wh: 'webhook',
  edge: 'edge',
  console: 'console',
  healthz: 'health',
  readyz: 'health',
  metrics: 'health',
};

type CompiledRoute = Route & {
  readonly segments: readonly string[];
  /** Parameters of a request to a path without any, so that the route is its match. */
  readonly params: ReadonlyMap<string, string>;
  readonly replies: RouteTraffic;
  /** Traffic of requests to the path with a method that it does not have. */
  readonly refused: RouteTraffic;
};
type Match = Omit<Route, 'method' | 'path'> & {
  readonly params: ReadonlyMap<string, string>;
  readonly replies: RouteTraffic;
};

/** Builds the function that serves every request of these routes. GET routes also answer HEAD. */
export function createRouter(
  routes: readonly Route[],
  traffic: Traffic,
): (res: HttpResponse, req: HttpRequest) => void {
  const groups = byFirstSegment(routes.map((route) => compile(route, traffic)));
  const unmatched = traffic.on({ surface: 'other', method: 'any', route: 'none' });
  return (res, req) => {
    const { params, handler, replies, bodyBytesMax, bodyMsMax, bodyBudget } = match(
      groups,
      unmatched,
      {
        ...{ method: req.getMethod().toUpperCase(), path: req.getUrl() },
        isDryRun: (req.getQuery('dryRun') ?? 'false') !== 'false',
      },
    );
    const body: BodyLimit = {
      bytesMax: bodyBytesMax ?? LIMIT.bodyBytesMax,
      msMax: bodyMsMax ?? LIMIT.bodyMsMax,
      budget: bodyBudget ?? 'credentialed',
    };
    runExchange(res, req, { params, handler, body, replies }, traffic);
  };
}

function compile(route: Route, traffic: Traffic): CompiledRoute {
  const segments = route.path.split('/');
  const labels = { surface: SURFACES[segments[1] ?? ''] ?? 'other', route: route.path };
  return {
    ...route,
    segments,
    params: NO_PARAMS,
    replies: traffic.on({ ...labels, method: route.method }),
    refused: traffic.on({ ...labels, method: 'any' }),
  };
}

/** Routes whose paths begin with the same segment. */
type Group = {
  readonly routes: CompiledRoute[];
  /** Whether each matches every path below that segment, so that nothing has to be compared. */
  isOpen: boolean;
};

/** Groups routes by the first segment of their path, which none leaves open: there are 150. */
function byFirstSegment(routes: readonly CompiledRoute[]): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const route of routes) {
    const [, first = '', second] = route.segments;
    if (first === TAIL || first.startsWith(':')) throw new Error(`${route.path} has no beginning`);
    const group = groups.get(first) ?? { routes: [], isOpen: true };
    group.routes.push(route);
    if (second !== TAIL) group.isOpen = false;
    groups.set(first, group);
  }
  return groups;
}

type Requested = { readonly method: string; readonly path: string; readonly isDryRun: boolean };

function match(
  groups: ReadonlyMap<string, Group>,
  unmatched: RouteTraffic,
  { method, path, isDryRun }: Requested,
): Match {
  const end = path.indexOf('/', 1);
  const group = groups.get(path.slice(1, end === -1 ? path.length : end));
  const isOpen = group?.isOpen === true && end !== -1;
  const segments = isOpen ? [] : path.split('/');
  const onPath = isOpen ? group.routes : mostSpecific(fitting(group, segments));
  const [first] = onPath;
  if (first === undefined) return answering(unmatched, () => failureReply(fail('notFound')));
  const wanted = method === 'HEAD' ? 'GET' : method;
  const route = onPath.find((candidate) => candidate.method === wanted);
  if (route === undefined) return answering(first.refused, () => methodNotAllowed(onPath));
  const params = readParams(route.segments, segments);
  if (params === undefined) {
    return answering(route.replies, () =>
      failureReply(invalidField('path', 'Malformed percent-encoding')),
    );
  }
  if (isDryRun && wanted !== 'GET' && route.hasDryRun === undefined) {
    return answering(route.replies, () => failureReply(invalidField('dryRun', 'Has no dry run')));
  }
  return params.size === 0 ? route : { ...route, params };
}

function answering(replies: RouteTraffic, handler: Handler): Match {
  return { params: NO_PARAMS, handler, replies };
}

function methodNotAllowed(routes: readonly CompiledRoute[]) {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return {
    ...failureReply(fail('methodNotAllowed')),
    headers: [['Allow', methods.join(', ')], ...NO_STORE] as const,
  };
}

function fitting(group: Group | undefined, segments: readonly string[]): readonly CompiledRoute[] {
  return group?.routes.filter((route) => fits(route.segments, segments)) ?? [];
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const hasTail = pattern.at(-1) === TAIL;
  if (hasTail ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  return pattern.every((part, index) => {
    if (part === TAIL) return true;
    return part.startsWith(':') ? segments[index] !== '' : part === segments[index];
  });
}

/** Returns the most specific of the routes that match a path; they differ only in their methods. */
function mostSpecific(routes: readonly CompiledRoute[]): readonly CompiledRoute[] {
  const reach = ({ segments }: CompiledRoute) =>
    segments.at(-1) === TAIL ? segments.length : Number.POSITIVE_INFINITY;
  const furthest = Math.max(...routes.map(reach));
  return routes.filter((route) => reach(route) === furthest);
}

function readParams(
  pattern: readonly string[],
  segments: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const params = new Map<string, string>();
  for (const [index, part] of pattern.entries()) {
    if (!part.startsWith(':')) continue;
    const value = decodeSegment(segments[index] ?? '');
    if (value === undefined) return undefined;
    params.set(part.slice(1), value);
  }
  return params;
}

/** Decodes the percent-encoding of a path segment (a `+` stays a `+`); undefined if it is malformed. */
export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
