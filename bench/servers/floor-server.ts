// Floor that the service is measured against: the least that uWebSockets.js can do for a check. Its route has
// the same shape, it reads the same headers and answers the same bytes as the service, and decides nothing.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import * as uws from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { FixedAnswer } from '../load/ask.ts';

const answer = JSON.parse(process.argv[2] ?? '') as FixedAnswer;
const status = `${answer.status} ${STATUS_CODES[answer.status]}`;
const [[firstName, firstValue] = ['', ''], [secondName, secondValue] = ['', '']] = answer.headers;
const body = Buffer.from(answer.body);

/** Number of characters read so far, kept so that the compiler cannot leave the reading out. */
let read = 0;

function serve(res: HttpResponse, req: HttpRequest): void {
  for (let index = 0; index < 5; index++) read += (req.getParameter(index) ?? '').length;
  read += req.getHeader('x-service-device').length;
  res.cork(() => {
    res.writeStatus(status);
    if (firstName !== '') res.writeHeader(firstName, firstValue);
    if (secondName !== '') res.writeHeader(secondName, secondValue);
    if (body.length > 0) res.end(body);
    else res.endWithoutBody();
  });
}

if (answer.headers.length > 2) throw new Error('the floor writes at most two headers');
uws
  .App()
  .get('/u/:app/:channel/:platform/:arch/:version', serve)
  .listen('127.0.0.1', 0, (socket) => {
    if (socket) process.send?.(uws.us_socket_local_port(socket));
  });
process.on('disconnect', () => process.exit(read < 0 ? 1 : 0));
