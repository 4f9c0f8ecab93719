// Server with the usual rate limiter and nothing else. Its rate is the most that one awaited script per
// request allows.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import * as uws from 'uWebSockets.js';
import { countByScript } from './count-by-script.mjs';
import type { FixedAnswer } from './start-server.ts';

const { headers, body } = JSON.parse(process.argv[2] ?? '') as FixedAnswer;
const bytes = Buffer.from(body);
const count = countByScript();

function serve(res: HttpResponse, req: HttpRequest): void {
  let isGone = false;
  res.onAborted(() => {
    isGone = true;
  });
  const answer = (isAllowed: boolean): void => {
    if (isGone) return;
    res.cork(() => {
      res.writeStatus(isAllowed ? '200 OK' : '429 Too Many Requests');
      for (const [name, value] of headers) res.writeHeader(name, value);
      res.end(bytes);
    });
  };
  count(req.getHeader('x-service-device')).then(answer, () => answer(true));
}

uws
  .App()
  .get('/u/:app/:channel/:platform/:arch/:version', serve)
  .listen('127.0.0.1', 0, (socket) => {
    if (socket) process.send?.(uws.us_socket_local_port(socket));
  });
process.on('disconnect', () => process.exit(0));
