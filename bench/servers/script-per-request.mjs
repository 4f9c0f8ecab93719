// Module that is loaded into the service (`--import`) to give it the usual rate limiter: every update check
// first waits for one Redis script that counts it. Everything else is the unchanged service.

import { countByScript } from './count-by-script.mjs';

// uWebSockets.js reads this when its native part is loaded, which happens here instead of src/http/server.ts.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = '65536';
// The object from which the package takes its exports when the service imports it later on.
const native = new URL('./uws.mjs', import.meta.resolve('uWebSockets.js')).href;
const { default: uws } = await import(native);
const createApp = uws.App;

/** Headers that handlers read, kept beyond the turn after which uWebSockets.js drops a request. */
const HEADERS = ['x-service-device', 'x-user-staging-id', 'x-forwarded-for', 'if-none-match'];

uws.App = () => {
  const app = createApp();
  const count = countByScript();
  const get = app.get.bind(app);
  app.get = (
    /** @type {string} */ pattern,
    /** @type {(res: import('uWebSockets.js').HttpResponse, req: object) => void} */ handler,
  ) => {
    if (!pattern.startsWith('/u')) return get(pattern, handler);
    return get(
      pattern,
      (
        /** @type {import('uWebSockets.js').HttpResponse} */ res,
        /** @type {import('uWebSockets.js').HttpRequest} */ req,
      ) => {
        const kept = keep(req);
        let isGone = false;
        res.onAborted(() => {
          isGone = true;
        });
        void answerCounted(count(kept.getHeader('x-service-device')), (isAllowed) => {
          if (isGone) return;
          res.cork(() => {
            if (isAllowed) handler(res, kept);
            else res.writeStatus('429 Too Many Requests').end();
          });
        });
      },
    );
  };
  return app;
};

/**
 * @param {Promise<boolean>} counted
 * @param {(isAllowed: boolean) => void} answer
 */
async function answerCounted(counted, answer) {
  answer(await counted);
}

/** @param {import('uWebSockets.js').HttpRequest} req */
function keep(req) {
  const [url, query, method] = [req.getUrl(), req.getQuery(), req.getCaseSensitiveMethod()];
  const parameters = [0, 1, 2, 3, 4].map((index) => req.getParameter(index));
  const headers = new Map(HEADERS.map((name) => [name, req.getHeader(name)]));
  return {
    getUrl: () => url,
    getQuery: () => query,
    getMethod: () => method.toLowerCase(),
    getCaseSensitiveMethod: () => method,
    getParameter: (/** @type {number} */ index) => parameters[index],
    getHeader: (/** @type {string} */ name) => headers.get(name) ?? '',
    forEach: (/** @type {(name: string, value: string) => void} */ each) =>
      headers.forEach((value, name) => {
        if (value !== '') each(name, value);
      }),
  };
}
