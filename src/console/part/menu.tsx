// Menu that opens on click or Enter, and closes when it loses the focus.

import type { ComponentChildren } from 'preact';

/** Menu; its button shows `text`, and `label` names it. */
export function Menu(props: {
  label: string;
  text?: string;
  buttonClass: string;
  /** Whether a choice closes the menu. Its button then gets the focus, so that a dialog returns it there. */
  isClosing?: boolean;
  children: ComponentChildren;
}) {
  const { label, text = label, buttonClass, isClosing = false, children } = props;
  return (
    <details
      class="menu"
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        const isInside = next instanceof Node && event.currentTarget.contains(next);
        if (!isInside && next !== null) event.currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector('summary')?.focus();
      }}
      onClick={(event) => {
        const isChoice = event.target instanceof Element && event.target.closest('.menu-item');
        if (!isClosing || !isChoice) return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector('summary')?.focus();
      }}
    >
      <summary class={buttonClass} aria-label={label}>
        {text}
      </summary>
      <div class="menu-body">{children}</div>
    </details>
  );
}
