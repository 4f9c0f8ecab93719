// Operations on releases: publishing, controlling, promoting, withdrawing and listing (docs/contract.md 4.1
// to 4.4, 4.15).

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { RELEASE_STATUSES } from '../../contract/choice.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { KeyRight, Release } from '../../contract/resource.ts';
import { pageCountOf } from '../../publishing/administer.ts';
import type { Tried } from '../../publishing/changes.ts';
import { call, change, type KeyOperation, read } from '../endpoint/key-operation.ts';
import { jsonAnswer, type Parameters } from '../endpoint/operation.ts';
import { noteApp } from '../endpoint/parse-shape.ts';
import {
  newReleaseOf,
  promoteReleaseBody,
  promotionOf,
  publishReleaseBody,
  readListQuery,
  releaseNameOf,
  retryReleaseBody,
  seenServingBody,
  servingCallOf,
  servingControlBody,
  withdrawReleaseBody,
} from '../endpoint/release-body.ts';
import type { Exchange } from '../transport/exchange.ts';
import { jsonReply } from '../transport/reply.ts';

const PATH = '/api/v1/releases';
const EFFECT = 'findings and the effect';
const text = z.string().optional();
const LIST_QUERY: Parameters = {
  app: text.describe('Ref or id; all apps when left out.'),
  channel: text.describe('Name; all channels when left out.'),
  version: text.describe('Found by its canonical form.'),
  status: text.describe(`One of ${RELEASE_STATUSES.join(', ')}; another one matches nothing.`),
  page: z.int().default(1).optional().describe('From 1 on; what makes no sense is the default.'),
  per_page: z
    .int()
    .default(LIMIT.perPageDefault)
    .optional()
    .describe(`1 to ${LIMIT.perPageMax}; what makes no sense is the default.`),
  standing: text.describe('`true` adds the standing of each release, for keys that may read.'),
};
const PUBLISHED = {
  200: jsonAnswer('Dry run: what the call would do.', ANSWER_SHAPES.RehearsedRelease),
  201: jsonAnswer('The release.', ANSWER_SHAPES.ReleaseAnswer, 'Idempotent-Replayed'),
};

/** Operations below `/api/v1/releases`, except those on plans. */
export const RELEASE_OPERATIONS: readonly KeyOperation[] = [
  change({
    ...{ method: 'POST', path: PATH, id: 'publishRelease', right: 'publish' },
    summary: 'Publish a release',
    description:
      'A version exists once on an app and channel. A release that was never offered can be withdrawn.',
    input: publishReleaseBody,
    ...{ answers: PUBLISHED, status: 201, refusals: [404, 409], isRepeatable: true },
    asks: 'publishRelease',
    session: { endpoint: 'POST releases' },
    by: ({ publishRelease }) => publishRelease,
    prepare: (body, { freshnessSeconds }) => newReleaseOf(body, freshnessSeconds),
    answer: (release) => ({ release }),
    hasFindings: true,
    dryRun: { endpoint: 'POST releases/rehearse', tells: EFFECT, answer: unpublished },
  }),
  read({
    ...{ path: PATH, id: 'listReleases', tag: 'Releases', right: neededToList },
    summary: 'List releases, newest first',
    // `readListQuery` parses the query and refuses nothing, so `input` has no fields.
    ...{ input: z.object({}), parameters: LIST_QUERY },
    answer: ['A page of them.', ANSWER_SHAPES.ReleasePage],
    refusals: [],
    async run({ ledger, standings }, caller, _, exchange) {
      const query = readListQuery(exchange.queryText);
      noteApp(exchange, query);
      const { releases, total } = await ledger.listReleases(caller.scope, query);
      const { page, perPage } = query;
      const pageCount = pageCountOf(total, perPage);
      const isJudged = query.standing && caller.may.includes('read');
      const listed = isJudged ? await standings.readList(caller.scope, releases) : releases;
      return { releases: listed, page, pageCount, total };
    },
  }),
  change({
    ...{ method: 'PATCH', path: PATH, id: 'controlServing', right: 'control' },
    summary: 'Control a release: its rollout, status and targeting',
    description: 'Once a release was offered, its rollout and its targeting can only widen.',
    input: servingControlBody,
    answers: {
      200: jsonAnswer(
        'How it is served from now on; for a dry run what the call would do.',
        z.union([ANSWER_SHAPES.RehearsedServing, ANSWER_SHAPES.ServingAnswer]),
      ),
    },
    refusals: [404, 409, 422],
    asks: 'controlServing',
    session: { endpoint: 'PATCH releases', input: seenServingBody },
    by: ({ controlServing }) => controlServing,
    prepare: servingCallOf,
    answer: (release) => ({ release }),
    dryRun: {
      ...{ endpoint: 'POST releases/rehearse-serving', tells: EFFECT },
      answer: ({ value: release, findings, ...measured }) => ({
        ...{ release, findings, effect: measured.effect, runners: measured.runners },
      }),
    },
  }),
  change({
    ...{ method: 'DELETE', path: PATH, id: 'withdrawRelease', right: 'publish' },
    summary: 'Withdraw a release that was never offered',
    input: withdrawReleaseBody,
    answers: { 200: jsonAnswer('Its version is free again.', ANSWER_SHAPES.WithdrawnAnswer) },
    refusals: [404, 409],
    session: { endpoint: 'DELETE releases' },
    by: ({ withdrawRelease }) => withdrawRelease,
    prepare: releaseNameOf,
    answer: (release) => ({ release }),
  }),
  change({
    ...{ method: 'POST', path: `${PATH}/promote`, id: 'promoteRelease', right: 'publish' },
    summary: 'Publish a release of one channel on another',
    description:
      'A source that is paused or unhealthy is refused unless the call says `rollout`, `plan` or `paused`.',
    input: promoteReleaseBody,
    ...{ answers: PUBLISHED, status: 201, refusals: [404, 409], isRepeatable: true },
    asks: 'promoteRelease',
    session: { endpoint: 'POST releases/promote' },
    by: ({ promoteRelease }) => promoteRelease,
    prepare: (body, { freshnessSeconds }) => promotionOf(body, freshnessSeconds),
    answer: (release) => ({ release }),
    hasFindings: true,
    dryRun: { endpoint: 'POST releases/rehearse-promotion', tells: EFFECT, answer: unpublished },
  }),
  call({
    ...{ method: 'POST', path: `${PATH}/retry`, id: 'retryRelease' },
    ...{ tag: 'Releases', right: 'control' },
    summary: 'Let devices that speak DDI have a release again',
    description:
      'Ends the bars of devices that have closed an action for it: of those that are named, or of all.',
    input: retryReleaseBody,
    answers: { 200: jsonAnswer('The number of bars.', ANSWER_SHAPES.RetriedAnswer) },
    refusals: [404, 409],
    async run({ retries }, caller, { deviceIds, reason, ...named }) {
      const retried = await retries.retry(caller, releaseNameOf(named), deviceIds, reason);
      return isFailure(retried) ? retried : jsonReply(200, retried);
    },
  }),
];

/** Builds the answer to a dry run of publishing: the release has neither an id nor a time of creation. */
function unpublished({ value, findings, effect, runners }: Tried<Release>) {
  const { id: _, createdAt: __, ...release } = value;
  return { release, findings, effect, runners };
}

/**
 * Returns the rights of which one suffices: a key that may only publish may read one release by its name, to
 * find out whether it exists already.
 */
function neededToList({ queryText }: Exchange): readonly KeyRight[] {
  const { app, channel, version } = readListQuery(queryText);
  const isOne = [app, channel, version].every((name) => name !== undefined);
  return isOne ? ['read', 'publish'] : ['read'];
}
