// Operations that stop all that an app or a channel has published, and let it go on (docs/contract.md 4.21).

import type { z } from 'zod';
import { isFailure } from '../../contract/failure.ts';
import { resumeStop, stopReleases } from '../../publishing/releases.ts';
import { jsonReply } from '../reply.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { jsonAnswer } from '../shape/operation.ts';
import { appResumeBody, resumeBody, stopBody } from '../shape/release-body.ts';
import { call, change, type KeyOperation, WAITING, waiting } from './key-operation.ts';

/** End of a stop, which an approval carries out as well. */
export const RESUME_STOP = {
  input: resumeBody,
  run: waiting('resumeStop', ({ ledger, propagate }, who, { stop }: z.output<typeof resumeBody>) =>
    resumeStop(ledger, propagate, who, stop),
  ),
} as const;

/** Operations of `/api/v1/stop` and `/api/v1/resume`. */
export const STOP_OPERATIONS: readonly KeyOperation[] = [
  change({
    ...{ method: 'POST', path: '/api/v1/stop', id: 'stopReleases', right: 'control' },
    summary: 'Pause all that an app, or one channel of it, has published',
    description: 'What is published later is not stopped. Plans of what is paused are held.',
    input: stopBody,
    answers: { 200: jsonAnswer('The stop, with what it has paused.', ANSWER_SHAPES.StopAnswer) },
    refusals: [404],
    session: { endpoint: 'POST stop' },
    async run({ ledger, propagate }, who, { app, channel, reason }) {
      const stop = await stopReleases(ledger, propagate, who, { app, channel, reason });
      return isFailure(stop) ? stop : { stop };
    },
  }),
  {
    ...call({
      ...{ method: 'POST', path: '/api/v1/resume', id: 'resumeStop', right: 'control' },
      tag: 'Releases',
      summary: 'Publish again what a stop has paused',
      description:
        'A release whose status was set since is left as it is. Plans stay held: resume each of them.',
      input: resumeBody,
      answers: {
        200: jsonAnswer('What is published again.', ANSWER_SHAPES.ResumedStop),
        202: WAITING,
      },
      refusals: [404, 409],
      async run(services, caller, body) {
        const resumed = await RESUME_STOP.run(services, caller, body);
        return isFailure(resumed) ? resumed : jsonReply(200, resumed);
      },
    }),
    sessionRoutes: [
      {
        ...{ endpoint: 'POST resume', input: appResumeBody, status: 200 },
        run: (services, who, { stop }: z.output<typeof appResumeBody>) =>
          RESUME_STOP.run(services, who, { stop }),
      },
    ],
  },
];
