// Messages, and the display of loaded data: a skeleton first, then the data with the latest error.

import type { ComponentChildren } from 'preact';
import type { Loaded } from '../hook/use-load.ts';

/** Message; screen readers announce an error at once, others politely. */
export function Notice(props: {
  tone: 'good' | 'warn' | 'bad' | 'quiet';
  children: ComponentChildren;
}) {
  const { tone, children } = props;
  return (
    <div class={`notice panel small ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** Error with a button to try again. */
export function FaultNotice({ fault, onRetry }: { fault: string; onRetry: () => void }) {
  return (
    <Notice tone="bad">
      {fault}{' '}
      <button type="button" class="link" onClick={onRetry}>
        Try again
      </button>
    </Notice>
  );
}

/** Placeholder of loading data. `isComing`: hides what is below it on the page until the data is there. */
export function Skeleton({ isComing = true }: { isComing?: boolean }) {
  return (
    <div
      class={isComing ? 'skeleton coming stack' : 'skeleton stack'}
      role="status"
      aria-label="Loading"
    >
      <span />
      <span />
      <span />
    </div>
  );
}

/** Renders loaded data, with an error beside it. The page itself reports outages and an ended session. */
export function LoadedView<Value>(props: {
  of: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  const { data, error, isComing, reload } = props.of;
  const isOwn = error !== undefined && !error.isOutage && error.status !== 401;
  return (
    <>
      {isOwn && <FaultNotice fault={error.advice} onRetry={() => void reload()} />}
      {data === undefined && !isOwn && <Skeleton isComing={isComing} />}
      {data !== undefined && props.children(data)}
    </>
  );
}
