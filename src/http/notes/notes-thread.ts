// Entry point of the thread that renders release notes and writes feeds. It does one job after the other and
// transfers the answers. The serving thread starts it, and terminates it if a job takes too long
// (notes-renderer.ts). It shares no variables with the service.

import { parentPort } from 'node:worker_threads';
import { answerNotesJob, movesWith, type NotesJob } from './notes-job.ts';

const port = parentPort;
if (port === null) throw new Error('This part of the service is started by the service itself');
port.on('message', (job: NotesJob) => {
  const answer = answerNotesJob(job);
  port.postMessage(answer, movesWith(answer));
});
port.postMessage('ready');
