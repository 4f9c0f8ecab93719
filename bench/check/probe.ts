// A fixed sequence of checks, asked one after the other before anything is measured: its answers' checksum
// says that two runs measured the same, and its first answer is what the floor server writes.

import { createHash } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { FixedAnswer } from '../load/child-server.ts';
import { nthRequest, type Question } from '../load/question.ts';

const LANES = 16;
/** What every server adds by itself, and the floor therefore too. */
const OWN_HEADERS = ['date', 'uwebsockets', 'content-length', 'connection', 'keep-alive'];

/** Asks the first `count` requests of a question; the checksum is over (status, body) in their order. */
export async function probe(
  url: string,
  question: Question,
  count: number,
): Promise<{ checksum: string; first: FixedAnswer }> {
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
  const hash = createHash('sha256');
  for (const { status, body } of answers) hash.update(`${status} ${body}\n`);
  const [first] = answers;
  if (first === undefined) throw new Error('nothing was asked');
  return { checksum: hash.digest('hex').slice(0, 12), first };
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
