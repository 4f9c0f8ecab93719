// Tests the route that serves every updater, for each way in which an updater may be described.

import { expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { type Candidate, candidatesBy } from '../../src/domain/decision/catalog.ts';
import type { Plan } from '../../src/domain/decision/plan.ts';
import { replyOf } from '../../src/http/device/updater-route.ts';
import type { Reply } from '../../src/http/transport/reply.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import { CatalogSlot, checkQuery, checkScope, PlanBudget } from '../../src/serving/catalog-slot.ts';
import type { Question, Updater } from '../../src/updater/updater.ts';
import { catalog, device, release } from '../domain/sample.ts';

type Documented = Candidate & { readonly document: Buffer };
type Described = Updater<Documented, never>;

const QUESTION: Question<Documented> = {
  client: 'u',
  platform: 'linux',
  arch: '',
  planKey: 'test',
  candidates: (served) =>
    candidatesBy(served, 'test', (each) => {
      return { release: each, document: Buffer.from(each.source.version) };
    }),
};

/** Replies of an updater on a channel that serves this version, or none: one for each `If-None-Match`. */
function replies(
  parts: Partial<Described>,
  version: string | undefined,
  tags: readonly string[] = [''],
): readonly Reply[] {
  const reply = replyOf<Documented>({
    mediaType: 'text/plain',
    isConditional: false,
    offer: (_plan, { document }) => document,
    nothing: 'no-content',
    ...parts,
  });
  const slot = new CatalogSlot(new PlanBudget(), new AppCounts(CHECK_REASONS));
  slot.replace(catalog(version === undefined ? [] : [release(version)]));
  const prepared = slot.planFor(checkQuery(checkScope('acme', 'stable', QUESTION), undefined));
  if (prepared === undefined) throw new Error('the slot has no catalog');
  return tags.map((tag) => reply(prepared.decide(device('device-1')), tag));
}

function headersOf({ head, headers = [], contentType }: Reply): string {
  const all = headers.map((pair) => pair.join(': '));
  return [head?.last, ...all, `Content-Type: ${contentType}`].join('\r\n');
}

it('an offer is the document; no cache may keep it unless the updater is conditional, then 304', () => {
  const [fresh] = replies({}, '1.0.0') as [Reply];
  expect(fresh).toMatchObject({ status: 200, body: Buffer.from('1.0.0') });
  expect(headersOf(fresh)).toContain('Cache-Control: no-store\r\nContent-Type: text/plain');
  expect(headersOf(fresh)).not.toContain('ETag');
  const [first] = replies({ isConditional: true }, '1.0.0') as [Reply];
  expect(headersOf(first)).toContain('Cache-Control: private, no-cache');
  expect(headersOf(first)).toMatch(/ETag: "[\w-]{43}"\r\nContent-Type: text\/plain$/);
  const tag = /ETag: (".*")/.exec(headersOf(first))?.[1] ?? '';
  const [same, other] = replies({ isConditional: true }, '1.0.0', [tag, '"other"']);
  expect(same).toMatchObject({ status: 304 });
  expect(same).not.toHaveProperty('body');
  expect(other).toMatchObject({ status: 200, body: Buffer.from('1.0.0') });
});

it('nothing to offer is 204, a refusal or a document, as the description has it', () => {
  const [empty] = replies({ nothing: 'no-content' }, undefined);
  const lines = ['204 No Content', 'Keep-Alive: timeout=8', 'Cache-Control: no-store'];
  const head = { kept: lines.join('\r\n'), last: lines.toSpliced(1, 1).join('\r\n') };
  expect(empty).toEqual({ status: 204, head });
  const [refusal] = replies({ nothing: fail('noReleaseOffered') }, undefined);
  expect(refusal).toMatchObject({ status: 404 });
  expect(String(refusal?.body)).toBe('{"error":"No release offered"}');
  const nothing = ({ catalog: { snapshot } }: Plan) => Buffer.from(`none on ${snapshot.channel}`);
  const [fresh] = replies({ nothing }, undefined);
  expect(fresh).toMatchObject({ status: 200, body: Buffer.from('none on stable') });
  // It is conditional like the others.
  const [conditional] = replies({ nothing, isConditional: true }, undefined) as [Reply];
  expect(headersOf(conditional)).toMatch(/ETag: "/);
});
