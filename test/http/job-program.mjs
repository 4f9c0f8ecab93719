// Program of a thread under test: it answers a number with its double, and does what a text says.

import { parentPort } from 'node:worker_threads';

const fill = [];

parentPort?.on('message', (job) => {
  if (job === 'loop') for (;;) fill.length = 0;
  if (job === 'fill') for (;;) fill.push('x'.repeat(1000) + fill.length);
  if (job === 'throw') throw new Error('a bug');
  if (job === 'exit') process.exit(3);
  if (job === 'secrets') parentPort?.postMessage(Object.keys(process.env).length);
  else parentPort?.postMessage(job * 2);
});
parentPort?.postMessage('ready');
