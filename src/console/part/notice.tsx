// Something to be told, where it happened.

import type { ComponentChildren } from 'preact';

/** An error is announced at once, anything else when there is time. */
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
