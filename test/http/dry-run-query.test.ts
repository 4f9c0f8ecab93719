// Tests how calls are asked for a dry run and for findings: `true` or `false`, and nothing else, at every operation
// that has them (docs/contract.md 23).

import { expect, it } from 'vitest';
import type { Caller } from '../../src/access/api-keys.ts';
import { PLAN_OPERATIONS } from '../../src/http/api/plan-operations.ts';
import { RELEASE_OPERATIONS } from '../../src/http/api/release-operations.ts';
import type { Services } from '../../src/http/endpoint/key-operation.ts';
import type { Exchange } from '../../src/http/transport/exchange.ts';

const NAME = { app: 'acme', channel: 'stable', version: '1.0.0' };
const PROMOTION = { app: 'acme', from: 'beta', to: 'stable', version: '1.0.0' };

it.each<[parameter: string, id: string, body: object]>([
  ['dryRun', 'publishRelease', NAME],
  ['dryRun', 'controlServing', { ...NAME, rollout: 5 }],
  ['dryRun', 'promoteRelease', PROMOTION],
  ['dryRun', 'planRollout', { ...NAME, preset: 'fast' }],
  ['findings', 'publishRelease', NAME],
  ['findings', 'promoteRelease', PROMOTION],
])(
  '%s of %s is true or false, anything else is refused (§23.1, §23.8)',
  async (parameter, id, body) => {
    const operation = [...RELEASE_OPERATIONS, ...PLAN_OPERATIONS].find((each) => each.id === id);
    for (const value of ['', 'yes', 'maybe', 'TRUE', '1', 'true,']) {
      const sent = Promise.resolve(Buffer.from(JSON.stringify(body)));
      const exchange = { body: sent, queryText: `${parameter}=${value}`, notes: {} };
      // It is refused before any service is asked.
      const asked = [{} as Services, {} as Caller, exchange as unknown as Exchange] as const;
      expect(await operation?.serve(...asked), value).toEqual({
        failure: 'invalid',
        message: `${parameter}: Must be one of true, false`,
      });
    }
  },
);
