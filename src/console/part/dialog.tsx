// A question over the page. The browser's own dialog: Escape closes it, focus stays inside and comes back.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** Open for as long as it is rendered; `onClose` is asked for when the reader wants it gone. */
export function Dialog(props: {
  title: string;
  isWide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, isWide = false, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // The browser would begin with the button that closes it.
    shown?.querySelector<HTMLElement>('[data-first]')?.focus();
    // Closed before it goes: that is what brings the focus back to where it was.
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
