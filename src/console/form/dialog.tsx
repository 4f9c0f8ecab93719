// Modal dialog on the browser's own element, for forms, confirmations, and texts that are shown once.

import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { capitalized } from '../format/figure-text.ts';
import { useUnsaved } from '../hook/unsaved.ts';
import { Secret } from './copy-button.tsx';
import { DialogContext, Form } from './form.tsx';
import { Notice } from './notice.tsx';
import { CrossButton } from './small-button.tsx';

/** Selector of controls that take input. */
const CONTROL = '.dialog-body :is(input, select, textarea)';

/**
 * Dialog that is open while it is rendered. Calls `onClose` when the reader dismisses it; asks first if input
 * would be lost. `keeps` names a text that is shown only once: then only the dialog's own button closes it
 * without a question.
 */
export function Dialog(props: {
  title: string;
  isWide?: boolean;
  keeps?: string;
  /** Whether its input may be lost without a question, such as a search text. */
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
    // Otherwise the browser would focus the close button.
    const first = shown?.querySelector<HTMLElement>('[data-first]');
    (first ?? shown?.querySelector<HTMLElement>(CONTROL))?.focus();
    // Closed before its removal, because closing returns the focus to where it was.
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
      {/* Stays visible when the dialog is scrolled, together with the question. */}
      <div class="dialog-top">
        <div class="dialog-head line apart">
          <h2 id={titleId}>{title}</h2>
          <CrossButton label="Close" onClick={dismiss} />
        </div>
        {isLeaving && (
          <Leaving
            question={keeps === undefined ? 'Discard what you entered?' : `Is ${keeps} copied?`}
            leave={keeps === undefined ? 'Discard' : 'Yes, close'}
            stay={keeps === undefined ? 'Keep editing' : 'Stay'}
            onLeave={onClose}
            onStay={() => setLeaving(false)}
          />
        )}
      </div>
      <DialogContext.Provider value={{ dismiss, settle: () => setFilled(false) }}>
        <div class="dialog-body stack loose">{children}</div>
      </DialogContext.Provider>
    </dialog>
  );
}

function Leaving(props: {
  question: string;
  leave: string;
  stay: string;
  onLeave: () => void;
  onStay: () => void;
}) {
  const stay = useRef<HTMLButtonElement>(null);
  // Before the question is painted, so that the next key answers it and does not reach a field.
  useLayoutEffect(() => stay.current?.focus(), []);
  return (
    <div class="notice warn leaving panel row small" role="alert">
      {props.question}
      <button type="button" class="button plain small" ref={stay} onClick={props.onStay}>
        {props.stay}
      </button>
      <button type="button" class="button danger small" onClick={props.onLeave}>
        {props.leave}
      </button>
    </div>
  );
}

/** How a dialog ends. */
export type DialogEnd = {
  /** Shows what was changed; the dialog stays for it, unless something follows on it. */
  readonly onDone: () => unknown;
  readonly onClose: () => void;
};

type FormDialogProps<Result> = Partial<DialogEnd> & {
  title: string;
  /** Label of the button that sends. */
  verb: string;
  tone?: 'primary' | 'danger';
  obstacle?: string | undefined;
  isDeliberate?: boolean;
  cancel?: string;
  isWide?: boolean;
  onSend: () => Promise<Result>;
  /** Returns what to show next, such as a new secret; without it, the dialog closes. */
  then?: (result: Result) => ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
};

/** Dialog with one form, whose fields or explanation are the `children`. */
export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, isWide = false, verb, onSend, onDone, then, onClose, children, ...form } = props;
  const [next, setNext] = useState<ComponentChildren>();
  const isSending = useRef(false);
  const send = async () => {
    isSending.current = true;
    try {
      const result = await onSend();
      const done = onDone?.();
      const shown = then?.(result);
      if (shown !== undefined) return setNext(shown);
      await done;
      onClose();
    } finally {
      isSending.current = false;
    }
  };
  // The result is shown only once, so the dialog stays open until it arrives.
  const dismiss = () => {
    if (then === undefined || !isSending.current) onClose();
  };
  if (next !== undefined) return <>{next}</>;
  return (
    <Dialog title={title} isWide={isWide} onClose={dismiss}>
      <Form {...form} send={verb} onSend={send} onCancel={dismiss}>
        {children}
      </Form>
    </Dialog>
  );
}

/** Form dialog that asks for confirmation; its button is marked as dangerous by default. */
export function ConfirmDialog<Result>(props: FormDialogProps<Result>) {
  return <FormDialog tone="danger" {...props} />;
}

type Dialogue = (end: DialogEnd) => ComponentChildren;

/**
 * Provides one dialog at a time: the open one, and a function that opens one with its present values.
 * `onDone` shows what the dialogs change.
 */
export function useDialog(
  onDone: () => unknown = () => undefined,
): readonly [ComponentChildren, (dialog: Dialogue) => void] {
  const [open, setOpen] = useState<Dialogue>();
  const end = { onDone, onClose: () => setOpen(undefined) };
  return [open?.(end), (dialog) => setOpen(() => dialog)];
}

/**
 * Dialog with a text that is shown only once. `children` say what to do with it; `what` names it in labels.
 */
export function SecretDialog(props: {
  title: string;
  text: string;
  what: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, text, what, onClose, children } = props;
  return (
    <Dialog title={title} keeps={`the ${what}`} onClose={onClose}>
      <Notice tone="warn">{children}</Notice>
      <Secret label={capitalized(what)} text={text} what={what} />
      <div class="form-actions row">
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
