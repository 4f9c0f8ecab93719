// Nothing here yet, and what to do about it.

import type { ComponentChildren } from 'preact';

/** `children` say or offer the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
