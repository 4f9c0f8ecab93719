// Small button beside a heading or in a row, and the cross that removes a row.

import type { ComponentChildren } from 'preact';

/** Small button; `of` names its subject for screen readers. */
export function SmallButton(props: {
  tone?: 'plain' | 'primary';
  of?: string;
  isDisabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}) {
  const { tone = 'plain', of, isDisabled = false, onClick, children } = props;
  return (
    <button type="button" class={`button ${tone} small`} disabled={isDisabled} onClick={onClick}>
      {children}
      {of !== undefined && <span class="unseen"> {of}</span>}
    </button>
  );
}

/** Button with a cross that removes or closes something, as its label says. */
export function CrossButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" class="icon-button" aria-label={label} onClick={onClick}>
      ×
    </button>
  );
}
