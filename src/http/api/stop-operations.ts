// Operations that stop all published releases of an app or channel, and resume them (docs/contract.md 4.21).

import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { change, type KeyOperation } from '../endpoint/key-operation.ts';
import { jsonAnswer } from '../endpoint/operation.ts';
import { appResumeBody, resumeBody, stopBody } from '../endpoint/release-body.ts';

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
    by: ({ stopReleases }) => stopReleases,
    prepare: ({ app, channel }) => ({ app, channel }),
    answer: (stop) => ({ stop }),
  }),
  change({
    ...{ method: 'POST', path: '/api/v1/resume', id: 'resumeStop', right: 'control' },
    summary: 'Publish again what a stop has paused',
    description:
      'A release whose status was set since is left as it is. Plans stay held: resume each of them.',
    input: resumeBody,
    answers: { 200: jsonAnswer('What is published again.', ANSWER_SHAPES.ResumedStop) },
    refusals: [404, 409],
    asks: 'resumeStop',
    session: {
      endpoint: 'POST resume',
      input: appResumeBody,
      bodyOf: ({ stop }) => ({ stop }),
    },
    by: ({ resumeStop }) => resumeStop,
    prepare: ({ stop }) => ({ stop }),
    answer: (resumed) => resumed,
  }),
];
