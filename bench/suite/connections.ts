// Compares checks that have a connection each, as devices have that ask every few minutes, with a bare server
// that is asked in the same way: what is left of the difference between the two when most of the work is the
// system's. Then the same through TLS at HAProxy, and a fleet that keeps its connections open.

import { OWN_CONNECTION } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';
import { check } from './check.ts';
import { measureBalancer } from './connections/measure-balancer.ts';
import { measureHeld } from './connections/measure-held.ts';

export const connections: Benchmark = {
  name: 'connections',
  title: 'update checks with a connection each, plain and behind HAProxy, and many that are kept',
  explanation: [
    ...check.explanation,
    'Behind HAProxy: cpu: CPU per check of the serving process, service by floor, with its 95 % interval',
    'over the turns; HAProxy us: CPU of HAProxy per check. Its http-reuse: safe opens a connection to the',
    'server for each client that connects, always sends checks over those that stand.',
  ],
  async run(options) {
    const plain = await check.run({ ...options, scenario: OWN_CONNECTION });
    const parts = [
      'tables' in plain ? plain : { tables: [{ rows: plain }] },
      await measureBalancer(options.isSmoke),
      await measureHeld(options.isSmoke),
    ];
    const failures = parts.flatMap(({ failure }) => failure ?? []);
    return {
      tables: parts.flatMap(({ tables }) => tables),
      remarks: parts.flatMap(({ remarks = [] }) => remarks),
      json: Object.assign({}, ...parts.map(({ json = {} }) => json)) as Record<string, unknown>,
      ...(failures.length === 0 ? {} : { failure: failures.join('; ') }),
    };
  },
};
