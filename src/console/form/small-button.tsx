// Small button beside a heading or in a row.

import type { ComponentChildren } from 'preact';

/** Small button; `of` tells screen readers what it is about. */
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
