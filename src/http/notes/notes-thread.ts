// Entry point of the thread that renders release notes and writes feeds: it does one job after the other, and
// hands the answers over. The serving thread starts it, and ends it when a job takes too long
// (notes-renderer.ts). No variable of the service is shared with it.

import { parentPort } from 'node:worker_threads';
import { answerNotesJob, movesWith, type NotesJob } from './notes-job.ts';

const port = parentPort;
if (port === null) throw new Error('This part of the service is started by the service itself');
port.on('message', (job: NotesJob) => {
  const answer = answerNotesJob(job);
  port.postMessage(answer, movesWith(answer));
});
port.postMessage('ready');
