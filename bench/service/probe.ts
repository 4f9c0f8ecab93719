// Asks a fixed sequence of checks before a measurement. The checksum of the answers shows whether two runs
// measured the same, and the floor server writes the first answer.

import { createHash } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import { nthRequest, type Question } from '../load/question.ts';
import type { FixedAnswer } from '../servers/start-server.ts';

const LANES = 16;
/** Headers that every server adds by itself, the floor server among them. */
const OWN_HEADERS = ['date', 'uwebsockets', 'content-length', 'connection', 'keep-alive'];

/** Asks the first `count` requests of a question; the checksum is over (status, body) in their order. */
export async function probe(
  url: string,
  question: Question,
  count: number,
): Promise<{ checksum: string; first: FixedAnswer }> {
  const answers = await askFirst(url, question, count);
  const hash = createHash('sha256');
  for (const { status, body } of answers) hash.update(`${status} ${body}\n`);
  const [first] = answers;
  if (first === undefined) throw new Error('nothing was asked');
  return { checksum: hash.digest('hex').slice(0, 12), first };
}

/** Answers to the first `count` requests of a question, in their order. */
export async function askFirst(
  url: string,
  question: Question,
  count: number,
): Promise<FixedAnswer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: LANES });
  const answers: FixedAnswer[] = new Array(count);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      answers[index] = await ask(agent, url, nthRequest(question, index));
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    agent.destroy();
  }
  return answers;
}

function ask(
  agent: Agent,
  url: string,
  { path, headers }: ReturnType<typeof nthRequest>,
): Promise<FixedAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!OWN_HEADERS.includes(name.toLowerCase())) headers.push([name, value]);
  }
  return headers;
}
