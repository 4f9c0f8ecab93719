// Closings at a constant rate, each followed at once by a poll at another process, which must not list the
// action any more.

import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { failuresOf, percentileColumns, type Report } from '../../report.ts';
import { type Deployment, withDeployment } from '../../service/deployment.ts';
import { callAtRate } from './call-at-rate.ts';
import {
  askOnce,
  BEFORE,
  ddiQuestion,
  deviceAt,
  putQuestion,
  startBeside,
  startDdi,
} from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';

const PACE = { rate: 200, seconds: 60 };
const SMOKE: typeof PACE = { rate: 50, seconds: 3 };

export const closingsPart: Part = {
  name: 'closings',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: false }, (deployment) =>
      measure(deployment, isSmoke ? SMOKE : PACE),
    ),
};

async function measure(deployment: Deployment, { rate, seconds }: typeof PACE): Promise<Report> {
  const count = rate * seconds;
  console.error(`  closings, ${count} devices …`);
  const service = await startDdi(deployment);
  const { node } = service;
  const beside = await startBeside(deployment, service);
  await askOnce(deployment, node, putQuestion(count, [BEFORE], {}));
  await askOnce(deployment, node, ddiQuestion(count, [BEFORE]));
  const { deployment: id } = await deviceAt(beside, 0).poll();
  const [closed, polled] = [new LatencyHistogram(), new LatencyHistogram()];
  let listed = 0;
  const begin = performance.now();
  const errors = await callAtRate({ rate, count }, async (index, due) => {
    // Every other device closes at the one node and polls at the other.
    const [here, there] = index % 2 === 0 ? [node, beside] : [beside, node];
    const finished = index % 4 < 2 ? 'success' : 'failure';
    await deviceAt(here, index).report(id, finished);
    const answered = performance.now();
    closed.record(answered - due);
    if ((await deviceAt(there, index).poll()).deployment !== undefined) listed += 1;
    polled.record(performance.now() - answered);
  });
  const tookSeconds = (performance.now() - begin) / 1000;
  const rows = [
    figureRow('ended actions that a poll listed', listed, 0, { closings: polled.size }),
  ];
  const times = { closing: closed, 'poll after it': polled };
  return {
    tables: [
      { title: `${rate} closings a second for ${seconds} s, with polls at another node`, rows },
      {
        title: 'time since it was due, or since the answer before',
        rows: Object.entries(times).map(([request, histogram]) => ({
          ...{ request, 'a second': histogram.size / tookSeconds },
          ...percentileColumns((share) => histogram.percentileUs(share), 50, 99, 100),
        })),
      },
    ],
    json: { closings: { listed, closings: polled.size, errors } },
    failures: [
      ...failuresOf('closings', errors),
      ...(listed > 0 ? [`${listed} ended actions were listed`] : []),
    ],
  };
}
