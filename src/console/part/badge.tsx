// Badge for a role, status or outcome.

import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'live' | 'quiet';

/** Badge in the color of its tone. */
export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
