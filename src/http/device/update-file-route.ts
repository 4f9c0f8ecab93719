// `GET /e/{appRef}/{channel}/{file}`: the update files of electron-updater's generic provider. There is no
// "nothing for you" here: the client compares versions itself, and takes an empty answer for a broken one.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Catalog, FeedCandidate } from '../../domain/catalog.ts';
import { FEED_KINDS, feedKindOf } from '../../domain/feed-kind.ts';
import { type FeedPlan, planFeed } from '../../domain/plan.ts';
import type { Settled } from '../../operations/catalog-slot.ts';
import { type CheckOrigin, checkOrigin, checkSubject } from '../../operations/check-subject.ts';
import { conditionalReply, type TaggedBody, tagBody } from '../conditional.ts';
import { electronFeed } from '../format/electron-feed.ts';
import { failureReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { DeviceRoute, type DeviceRouteDependencies, refusalReply } from './device-route.ts';
import { KnownOrigins } from './known-origins.ts';
import { pathSegments } from './path-segments.ts';

/** The second is what every electron-updater sends by itself. */
const DEVICE_HEADERS = ['x-service-device', 'x-user-staging-id'];
const CONTENT_TYPE = 'text/yaml; charset=utf-8';
/** The answer is this device's: it may keep it, but has to ask whether it still holds. */
const HEADERS = [
  ['Cache-Control', 'private, no-cache'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

/** Builds the handlers for GET and HEAD below `/e/`. */
export function createUpdateFileRoute(
  dependencies: DeviceRouteDependencies,
): DeviceRoute<FeedPlan> {
  const files = new WeakMap<FeedCandidate, TaggedBody>();
  const reply = (settled: Settled<FeedPlan>, ifNoneMatch: string): Reply => {
    const { candidate } = settled;
    if (candidate === undefined) return refusalReply(fail('noReleaseOffered'));
    const file = files.get(candidate) ?? tagBody(Buffer.from(electronFeed(candidate), 'utf8'));
    files.set(candidate, file);
    return conditionalReply(ifNoneMatch, file, CONTENT_TYPE, HEADERS);
  };
  const origins = new KnownOrigins(readOrigin);
  const parse = (path: string) => {
    const origin = origins.at(path);
    return isFailure(origin) ? origin : checkSubject(origin, undefined);
  };
  const question = { parse, deviceHeaders: DEVICE_HEADERS, isConditional: true, reply };
  return new DeviceRoute(question, dependencies);
}

/** Stands in the router for the path, whose GET and HEAD never get there: any other method is 405. */
export const UPDATE_FILE_PLACEHOLDER: Route = {
  method: 'GET',
  path: '/e/:appRef/:channel/:file',
  handler: () => failureReply(fail('notFound')),
};

function readOrigin(path: string): Outcome<CheckOrigin<FeedPlan>> {
  const segments = pathSegments(path, ['appRef', 'channel', 'file']);
  if (isFailure(segments)) return segments;
  const [app = '', channel = '', file = ''] = segments;
  const kind = feedKindOf(file, channel);
  if (kind === undefined) return fail('unknownFile');
  const { platform, arch } = FEED_KINDS[kind];
  const plan = (catalog: Catalog) => planFeed(catalog, kind);
  return checkOrigin({ app, channel, platform, arch, planKey: `feed ${kind}`, plan });
}
