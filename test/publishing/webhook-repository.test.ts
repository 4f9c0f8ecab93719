// Tests of which repository a webhook takes releases, and what is told of the others (docs/contract.md
// 18.24). Which one a webhook is bound to, PostgreSQL decides: that is tested with the ledger.

import { describe, expect, it } from 'vitest';
import { bindRepository } from '../../src/publishing/receive-release.ts';
import type { OpenWebhook } from '../../src/publishing/webhooks.ts';
import type { HostRepository } from '../../src/store/console-ledger.ts';
import { HostLedger } from '../support/host-ledger.ts';
import { tell } from '../support/host-story.ts';

const NOTES = { id: 7, name: 'acme/notes' };
const TOOLS = { id: 8, name: 'acme/tools' };
const NAMELESS = { id: null, name: 'acme/notes' };
const MOVED = { id: 7, name: 'acme-inc/notes-app' };
const AGAIN = 'enable the webhook again to change that';
const FOREIGN = `It is of acme/tools, and this webhook takes acme/notes: ${AGAIN}`;
const ANEW = `It is of acme/notes (9), and this webhook takes acme/notes (7): ${AGAIN}`;

describe('a delivery', () => {
  // What the webhook is bound to, what the event says, and what the ledger answers when it is asked to bind
  // that: undefined if it is not asked.
  type Row = [
    string,
    HostRepository | null,
    HostRepository | undefined,
    HostRepository | null | undefined,
    string?,
  ];
  const [anew, capitals, nameless] = [
    { ...NOTES, id: 9 },
    { id: null, name: 'Acme/Notes' },
    { ...TOOLS, id: null },
  ];
  it.each<Row>([
    ['that names none is taken', null, undefined, undefined],
    ['that names none is taken later as well', NOTES, undefined, undefined],
    ['of the first one binds it', null, NOTES, NOTES],
    ['of the first one is foreign when another was quicker', null, TOOLS, NOTES, FOREIGN],
    ['of the same one binds nothing', NOTES, NOTES, undefined],
    ['of one that was renamed or moved stores its name', NOTES, MOVED, MOVED],
    ['of one without its id goes by the name', NOTES, NAMELESS, undefined],
    ['that is the first to tell the id stores it', NAMELESS, NOTES, NOTES],
    ['of the name in capitals is of the same one', NOTES, capitals, NOTES],
    ['of another one is foreign', NOTES, TOOLS, NOTES, FOREIGN],
    ['of another one without ids is foreign', NAMELESS, nameless, NAMELESS, FOREIGN],
    ['of one of the same name that was made anew is foreign', NOTES, anew, NOTES, ANEW],
    ['of a webhook that was disabled meanwhile is not foreign', null, NOTES, null],
  ])('%s', async (_title, known, told, bound, reason) => {
    const asked: HostRepository[] = [];
    const ledger = {
      bindRepository: async (_webhook: unknown, repository: HostRepository) => {
        asked.push(repository);
        return bound ?? null;
      },
    };
    const webhook = { repository: known } as OpenWebhook;
    const answer = await bindRepository({ ledger }, webhook, told);
    expect(answer).toEqual(reason === undefined ? undefined : { outcome: 'ignored', reason });
    expect(asked).toEqual(bound === undefined ? [] : [told]);
  });
});

it('a webhook without one gets that of what announces a release, and of nothing else', async () => {
  const others = ['published tag:nightly', 'published private', 'published draft', 'archived'];
  for (const step of [...others, 'edited', 'deleted', 'published', 'updated']) {
    const { host } = await tell(`${step} repository:acme/notes#7`);
    const isAnnounced = /^(published|updated)$/.test(step);
    expect([step, host.bound]).toEqual([step, isAnnounced ? [NOTES] : []]);
  }
});

it('a webhook takes releases of its repository, and nothing of another one', async () => {
  const other = 'repository:acme/tools#8';
  const host = new HostLedger(() => 0);
  host.own = NOTES;
  const steps =
    'published repository:acme/notes#7 > published tag:v2 > ' +
    `published tag:v3 ${other} > edited files:mac ${other} > deleted ${other}`;
  const { answers, end } = await tell(steps, { webhook: { repository: NOTES }, host });
  const foreign = `ignored: ${FOREIGN}`;
  expect(answers).toEqual(['created', 'created', foreign, foreign, foreign]);
  expect(end).toBe('published: linux, stable 2 published: linux');
});
