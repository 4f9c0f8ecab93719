// A word or two that stand out: a role, a state, an outcome.

import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'live' | 'quiet';

/** A badge of the tone. */
export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
