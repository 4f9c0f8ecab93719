// Modal dialog on the browser's own element: the focus stays inside and returns afterwards. Escape closes it,
// unless something would be lost by that.

import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks';
import { useUnsaved } from '../hook/unsaved.ts';

/**
 * Dialog that is open while it is rendered; `onClose` is called when the reader dismisses it. Once something
 * was filled in, the reader is asked first. `keeps` names what is shown this once: such a dialog is closed by
 * its own button alone.
 */
export function Dialog(props: {
  title: string;
  isWide?: boolean;
  keeps?: string;
  /** Whether what is filled in is worth nothing, as the words of a search. */
  isDisposable?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, isWide = false, keeps, isDisposable = false, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [isFilled, setFilled] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Without this, the browser would focus the close button.
    shown?.querySelector<HTMLElement>('[data-first]')?.focus();
    // Closed before it is removed, because closing returns the focus to where it was.
    return () => shown?.close();
  }, []);
  const ask = useCallback(() => setLeaving(true), []);
  useUnsaved(isFilled || keeps !== undefined, ask);
  const dismiss = () => {
    if (keeps !== undefined || isFilled) ask();
    else onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={titleId}
      onInput={() => setFilled(!isDisposable)}
      onCancel={(event) => {
        event.preventDefault();
        dismiss();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={dismiss}>
          ×
        </button>
      </div>
      {isLeaving && (
        <Leaving
          question={keeps === undefined ? 'Throw away what was filled in?' : `Is ${keeps} copied?`}
          leave={keeps === undefined ? 'Throw it away' : 'Yes, close'}
          onLeave={onClose}
          onStay={() => setLeaving(false)}
        />
      )}
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

function Leaving(props: {
  question: string;
  leave: string;
  onLeave: () => void;
  onStay: () => void;
}) {
  const stay = useRef<HTMLButtonElement>(null);
  useEffect(() => stay.current?.focus(), []);
  return (
    <div class="notice warn leaving" role="alert">
      {props.question}
      <button type="button" class="button plain small" ref={stay} onClick={props.onStay}>
        Stay
      </button>
      <button type="button" class="button danger small" onClick={props.onLeave}>
        {props.leave}
      </button>
    </div>
  );
}
