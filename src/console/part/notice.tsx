// Messages beside what caused them, and the display of loaded data: a progress bar before the first data,
// then the data with the latest error.

import type { ComponentChildren } from 'preact';
import type { Loaded } from '../hook/use-load.ts';

/** Message; screen readers announce an error at once, anything else politely. */
export function Notice(props: {
  tone: 'good' | 'warn' | 'bad' | 'quiet';
  children: ComponentChildren;
}) {
  const { tone, children } = props;
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/**
 * Renders data as soon as there is any; an error is shown beside older data. That the service cannot be
 * reached, or that nobody is signed in any more, is said once for the whole page.
 */
export function LoadedView<Value>(props: {
  of: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  const { data, error, reload } = props.of;
  const isOwn = error !== undefined && !error.isOutage && error.status !== 401;
  return (
    <>
      {isOwn && (
        <Notice tone="bad">
          {error.advice}{' '}
          <button type="button" class="link" onClick={() => void reload()}>
            Try again
          </button>
        </Notice>
      )}
      {data === undefined && !isOwn && (
        <div class="skeleton" role="status" aria-label="Loading">
          <span />
          <span />
          <span />
        </div>
      )}
      {data !== undefined && props.children(data)}
    </>
  );
}
