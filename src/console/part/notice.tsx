// Message beside the control that caused it.

import type { ComponentChildren } from 'preact';

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
