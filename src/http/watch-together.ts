// Several watchers of requests as one.

import type { RequestWatcher } from './request-watch.ts';

/** Returns one watcher for several; undefined for none. */
export function watchTogether(watchers: readonly RequestWatcher[]): RequestWatcher | undefined {
  const [first, ...others] = watchers;
  if (first === undefined) return undefined;
  const second = watchTogether(others);
  return second === undefined ? first : both(first, second);
}

function both(one: RequestWatcher, other: RequestWatcher): RequestWatcher {
  return {
    watches: (surface) => one.watches(surface) || other.watches(surface),
    begin(request) {
      const { surface } = request.labels;
      const watches = [one, other].filter((each) => each.watches(surface));
      const begun = watches.map((each) => each.begin(request));
      return {
        run: (work) => begun.reduce((inner, watch) => () => watch.run(inner), work)(),
        end(status) {
          for (const watch of begun) watch.end(status);
        },
      };
    },
  };
}
