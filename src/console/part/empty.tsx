// Placeholder for an empty list.

import type { ComponentChildren } from 'preact';

/** Placeholder whose `children` describe or offer the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
